#include "broker/nats/nats.h"
#include "unit/broker/fixture.h"

/* Codes as in nats-server's errors.json. Any other is no fault of the message, or costs it an
 * attempt. */
TEST(only_a_message_that_no_stream_can_hold_is_rejected)
{
    for (int code = -1; code < 20000; code++) {
        bool too_large = code == 10054 /* the message */ || code == 10097 /* its headers */;

        if ((nats_verdict_of(NATS_ERR, code) == VERDICT_REJECTED) != too_large)
            fail_msg("code %d", code);
        assert_int_not_equal(nats_verdict_of(NATS_ERR, code), VERDICT_SENT);
    }
}

TEST(only_a_code_that_is_unknown_or_may_pass_costs_an_attempt)
{
    static const int attempts[] = {9, 10001, 10070 /* wrong last msg ID */, 10071, 10164, 19999};
    static const int waits[] = {0,     10002, 10008, 10023, 10039, 10047, 10059,
                                10060, 10077, 10109, 10118, 10158, 10167};

    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
        assert_int_equal(nats_verdict_of(NATS_ERR, attempts[i]), VERDICT_RETRY);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        assert_int_equal(nats_verdict_of(NATS_ERR, waits[i]), VERDICT_WAIT);
}

TEST(a_status_of_the_library_that_blames_no_message_leaves_it_pending)
{
    for (int status = NATS_ERR; status <= NATS_MISMATCH + 10; status++) {
        enum verdict verdict = nats_verdict_of((natsStatus)status, 0);

        if (status == NATS_MAX_PAYLOAD || status == NATS_INVALID_SUBJECT ||
            status == NATS_INVALID_ARG)
            assert_int_equal(verdict, VERDICT_REJECTED);
        else if (status == NATS_NO_RESPONDERS || status == NATS_NOT_PERMITTED || status == NATS_ERR)
            assert_int_equal(verdict, VERDICT_WAIT);
        else
            assert_int_equal(verdict, VERDICT_PENDING);
    }
}

static struct batch batch;

static const char *reason_of(natsStatus status, int code, const char *text)
{
    struct nats_answer answer = {.state = NATS_REFUSED, .status = status, .code = code};
    struct message *message = add_message(&batch, "shop.order", NULL, "x");

    (void)snprintf(answer.text, sizeof answer.text, "%s", text);
    nats_judge(&batch, message, &answer, "EVENTS");
    assert_int_equal(message->verdict, nats_verdict_of(status, code));
    return message->reason != NULL ? message->reason : "";
}

TEST(a_reason_names_the_stream_or_the_subject)
{
    assert_int_equal(batch_init(&batch, 8), 0);
    assert_string_equal(reason_of(NATS_ERR, 10077, "maximum bytes exceeded"),
                        "stream \"EVENTS\": maximum bytes exceeded (10077)");
    assert_string_equal(reason_of(NATS_ERR, 10060, "expected stream does not match"),
                        "stream \"EVENTS\": expected stream does not match: the subject "
                        "belongs to another stream (10060)");
    assert_string_equal(reason_of(NATS_ERR, 0, "raft: not leader"),
                        "the reply was not an acknowledgement: raft: not leader");
    assert_string_equal(reason_of(NATS_NO_RESPONDERS, 0, ""),
                        "no stream has a subject that matches \"shop.order\"");
    assert_string_equal(reason_of(NATS_NOT_PERMITTED, 0, ""),
                        "not permitted to publish to \"shop.order\"");
    assert_string_equal(reason_of(NATS_TIMEOUT, 0, "Timeout"), "");
    batch_free(&batch);
}
