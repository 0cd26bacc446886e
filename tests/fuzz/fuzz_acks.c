#include "broker/nats/nats.h"
#include "fuzz/fuzz.h"

#include <jansson.h>

/* Any bytes as an answer to a publish: it acknowledges only what a JSON parser says it does. */

static bool is_acknowledged(const json_t *said)
{
    const char *stream = json_string_value(json_object_get(said, "stream"));

    return stream != NULL && strcmp(stream, "EVENTS") == 0 &&
           json_object_get(said, "error") == NULL &&
           json_integer_value(json_object_get(said, "seq")) > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nats_answer answer = nats_read_ack((const char *)data, size, "EVENTS");
    json_t *said = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

    EXPECT(answer.state == NATS_STORED || answer.state == NATS_DUPLICATE ||
           answer.state == NATS_STORED_ELSEWHERE || answer.state == NATS_REFUSED);
    EXPECT(memchr(answer.text, '\0', sizeof answer.text) != NULL);
    if (answer.state == NATS_STORED) {
        EXPECT(is_acknowledged(said));
        EXPECT((uint64_t)json_integer_value(json_object_get(said, "seq")) == answer.sequence);
        EXPECT(json_integer_value(json_object_get(said, "count")) == answer.batch_count);
    }
    json_decref(said);
    return 0;
}
