#include "message/remedy.h"
#include "test.h"

#include <string.h>

TEST(a_reason_has_the_remedy_of_its_own)
{
    static const struct {
        const char *reason;
        const char *remedy;
    } cases[] = {
        {"no [[route]] matches topic \"a\"", "add a [[route]]"},
        {"topic \"{key}\" of [[route]] uses a column that is NULL", "fill the column"},
        {"the topic is NULL", "its topic"},
        {"invalid subject: empty token", "its topic"},
        {"invalid topic name: \".\" and \"..\" are not allowed", "its topic"},
        {"the sink's allow list does not permit this topic", "add it to allow"},
        {"headers: not a JSON object", "its headers"},
        {"invalid header name: only letters", "its headers"},
        {"key, type and headers take 200000 bytes; at most 131072 are allowed", "shorter"},
        {"the event id is NULL", "must not be NULL"},
        {"event_id collides with another event (stream S, sequence 1)", "must be its own"},
        {"payload of 2000000 bytes is larger than message.max.bytes 1000000", "message.max.bytes"},
        {"payload of 9 bytes plus headers: larger than max_msg_size 1 of stream \"S\" (10054)",
         "max-msg-size"},
        {"topic \"a\": Broker: Topic authorization failed", "kafka-acls.sh"},
        {"stream \"S\" has no subject that matches \"a\"", "nats stream edit STREAM --subjects"},
        {"stream \"S\": maximum messages exceeded (10077)", "--max-msgs"},
        {"PostgreSQL cannot read this row: invalid byte sequence", "cannot be read"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *remedy = remedy_for(cases[i].reason);

        assert_non_null(remedy);
        if (strstr(remedy, cases[i].remedy) == NULL)
            fail_msg("\"%s\" has the remedy \"%s\"", cases[i].reason, remedy);
    }
    assert_null(remedy_for("waits for an earlier row of its key"));
    assert_null(remedy_for(NULL));
}
