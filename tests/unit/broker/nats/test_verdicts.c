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
