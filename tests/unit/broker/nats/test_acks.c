#include "broker/nats/nats.h"
#include "unit/broker/fixture.h"

/* What a server's answer says. No server is needed. */

static struct nats_answer answer;

static void read_ack(const char *said)
{
    answer = nats_read_ack(said, strlen(said), "EVENTS");
}

TEST(an_answer_of_the_stream_is_an_acknowledgement)
{
    static const char *const said[] = {
        "{\"stream\":\"EVENTS\", \"seq\":17}",
        "{\"stream\":\"EVENTS\",\"seq\":17}",
        " { \"seq\" : 17 , \"stream\" : \"EVENTS\" } ",
        "{\"stream\":\"EVENTS\", \"domain\":\"hub\", \"seq\":17}",
        "{\"stream\":\"EVENTS\", \"seq\":17, \"duplicate\":false}",
        "{\"stream\":\"EVENTS\", \"seq\":17, \"of a newer server\":[{}]}",
    };

    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        read_ack(said[i]);
        assert_int_equal(answer.state, NATS_STORED);
        assert_int_equal(answer.sequence, 17);
    }
}

static void assert_none_is_ours(const char *const said[], size_t count, const char *reason)
{
    for (size_t i = 0; i < count; i++) {
        read_ack(said[i]);
        assert_int_equal(answer.state, NATS_STORED_ELSEWHERE);
        assert_non_null(strstr(answer.text, reason));
    }
}

TEST(an_answer_without_a_sequence_number_is_no_acknowledgement)
{
    static const char *const said[] = {
        "{\"stream\":\"EVENTS\", \"seq\":0}",
        "{\"stream\":\"EVENTS\", \"seq\":-1}",
        "{\"stream\":\"EVENTS\", \"seq\":\"17\"}",
        "{\"stream\":\"EVENTS\", \"seq\":17.0}",
        "{\"stream\":\"EVENTS\"}",
    };

    assert_none_is_ours(said, sizeof said / sizeof *said, "number 0");
}

TEST(an_answer_of_another_stream_is_no_acknowledgement)
{
    static const char *const said[] = {
        "{\"stream\":\"OTHER\", \"seq\":17}",
        "{\"stream\":\"EVENTS2\", \"seq\":17}",
        "{\"stream\":\"EVENT\", \"seq\":17}",
        "{\"stream\":\"\", \"seq\":17}",
        "{\"stream\":\"OTHER\", \"seq\":17, \"duplicate\":true}",
    };

    assert_none_is_ours(said, sizeof said / sizeof *said, "as number 17");
}

TEST(a_duplicate_is_recognised_with_a_sequence_number_or_without)
{
    read_ack("{\"stream\":\"EVENTS\", \"seq\":17,\"duplicate\": true}");
    assert_int_equal(answer.state, NATS_DUPLICATE);
    assert_int_equal(answer.sequence, 17);
    read_ack("{\"stream\":\"EVENTS\", \"seq\":0,\"duplicate\": true}");
    assert_int_equal(answer.state, NATS_DUPLICATE);
    assert_int_equal(answer.sequence, 0);
}

TEST(an_error_is_no_acknowledgement_whatever_else_the_answer_holds)
{
    read_ack("{\"error\":{\"code\":503,\"err_code\":10077,\"description\":\"full\"},"
             "\"stream\":\"EVENTS\",\"seq\":17}");
    assert_int_equal(answer.state, NATS_REFUSED);
    assert_int_equal(answer.status, NATS_ERR);
    assert_int_equal(answer.code, 10077);
    assert_string_equal(answer.text, "full");
    read_ack("{\"error\":{\"code\":503},\"stream\":\"EVENTS\",\"seq\":17}");
    assert_int_equal(answer.state, NATS_REFUSED);
    assert_int_equal(answer.code, 0);
}

TEST(anything_else_is_a_refusal_without_a_code)
{
    static const char *const said[] = {
        "",
        "+OK",
        "17",
        "[]",
        "null",
        "{}",
        "{\"seq\":17}",
        "{\"stream\":17, \"seq\":17}",
        "{\"error\":true, \"stream\":\"EVENTS\", \"seq\":17}",
        "{\"stream\":\"EVENTS\", \"seq\":17",
        "{\"stream\":\"EVENTS\", \"seq\":17}}",
        "{\"stream\":\"EVENTS\", \"seq\":}",
        "{\"stream\":\"EVENTS\", \"seq\":017}",
        "{\"stream\":\"EVENTS\", \"seq\":9999999999999999999}",
        "{\"stream\":\"EVENTS\", \"seq\":18446744073709551633}",
        "{\"stream\":\"OTHER\", \"stream\":\"EVENTS\", \"seq\":17}",
    };

    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        read_ack(said[i]);
        assert_int_equal(answer.state, NATS_REFUSED);
        assert_int_equal(answer.status, NATS_ERR);
        assert_int_equal(answer.code, 0);
        assert_int_equal(nats_verdict_of(answer.status, answer.code), VERDICT_WAIT);
    }
}

TEST(the_answer_to_an_atomic_batch_has_its_id_and_its_size)
{
    read_ack("{\"stream\":\"EVENTS\", \"seq\":17,\"batch\":\"0123456789a\",\"count\":5}");
    assert_int_equal(answer.state, NATS_STORED);
    assert_string_equal(answer.batch_id, "0123456789a");
    assert_int_equal(answer.batch_count, 5);
    read_ack("{\"stream\":\"EVENTS\", \"seq\":17,\"batch\":\"0123456789abc\",\"count\":\"5\"}");
    assert_string_not_equal(answer.batch_id, "0123456789a");
    assert_int_equal(answer.batch_count, 0);
    read_ack("{\"stream\":\"EVENTS\", \"seq\":17}");
    assert_string_equal(answer.batch_id, "");
    assert_int_equal(answer.batch_count, 0);
}

TEST(an_answer_that_is_cut_anywhere_is_no_acknowledgement)
{
    static const char said[] = "{\"stream\":\"EVENTS\", \"seq\":17}";

    for (size_t len = 0; len < sizeof said - 1; len++)
        assert_int_equal(nats_read_ack(said, len, "EVENTS").state, NATS_REFUSED);
}

TEST(a_quoted_subject_is_read_as_it_was_sent)
{
    assert_true(nats_is_quoted("shop.order\"", text_of("shop.order")));
    assert_false(nats_is_quoted("shop.order\"", text_of("shop.orders")));
    assert_false(nats_is_quoted("shop.orders\"", text_of("shop.order")));
    assert_true(nats_is_quoted("shop.a\\\"b\"", text_of("shop.a\"b")));
    assert_true(nats_is_quoted("shop.or", text_of("shop.order")));
    assert_false(nats_is_quoted("shop.or", text_of("shop")));
}

TEST(an_answer_belongs_to_the_request_whose_number_and_token_it_has)
{
    static const char *const of_nobody[] = {
        "_INBOX.me.17",
        "_INBOX.me.17-",
        "_INBOX.me.17-0123456789",
        "_INBOX.me.17-0123456789ab",
        "_INBOX.me.x-0123456789a",
        "_INBOX.you.17-0123456789a",
        "_INBOX.me17-0123456789a",
    };
    struct nats nats = {.inbox_name = "_INBOX.me"};
    char reply[NATS_REPLY_BYTES];
    natsMsg *message = NULL;
    uint64_t number;
    const char *token;

    nats_reply_subject(&nats, UINT64_MAX, "0123456789a", reply);
    assert_int_equal(natsMsg_Create(&message, reply, NULL, "x", 1), NATS_OK);
    assert_true(nats_read_reply(&nats, message, &number, &token));
    assert_true(number == UINT64_MAX);
    assert_string_equal(token, "0123456789a");
    natsMsg_Destroy(message);
    for (size_t i = 0; i < sizeof of_nobody / sizeof *of_nobody; i++) {
        assert_int_equal(natsMsg_Create(&message, of_nobody[i], NULL, "x", 1), NATS_OK);
        assert_false(nats_read_reply(&nats, message, &number, &token));
        natsMsg_Destroy(message);
    }
}

static int open_library(void **state)
{
    (void)state;
    return nats_Open(-1) == NATS_OK ? 0 : -1;
}

ONCE(open_library, NULL)
