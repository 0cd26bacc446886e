#include "broker/nats/nats.h"
#include "unit/broker/fixture.h"

/* The whole table: each row, and whatever is not in it. Codes as in nats-server's errors.json. */

static const struct {
    int code;
    enum verdict verdict;
} of_code[] = {
    {0, VERDICT_WAIT},         /* 503 of a cluster that has no leader, or no answer of a stream */
    {10002, VERDICT_WAIT},     /* resource limits exceeded for account */
    {10004, VERDICT_WAIT},     /* incomplete results */
    {10006, VERDICT_WAIT},     /* JetStream not in clustered mode */
    {10007, VERDICT_WAIT},     /* JetStream cluster not assigned to this server */
    {10008, VERDICT_WAIT},     /* JetStream system temporarily unavailable */
    {10009, VERDICT_WAIT},     /* JetStream cluster can not handle request */
    {10010, VERDICT_WAIT},     /* JetStream clustering support required */
    {10023, VERDICT_WAIT},     /* insufficient resources */
    {10028, VERDICT_WAIT},     /* insufficient memory resources available */
    {10035, VERDICT_WAIT},     /* account not found */
    {10036, VERDICT_WAIT},     /* not currently supported in clustered mode */
    {10039, VERDICT_WAIT},     /* JetStream not enabled for account */
    {10041, VERDICT_WAIT},     /* general RAFT error */
    {10047, VERDICT_WAIT},     /* insufficient storage resources available */
    {10054, VERDICT_REJECTED}, /* message size exceeds maximum allowed */
    {10059, VERDICT_WAIT},     /* stream not found */
    {10060, VERDICT_WAIT},     /* expected stream does not match */
    {10063, VERDICT_WAIT},     /* expected stream sequence does not match */
    {10070, VERDICT_RETRY},    /* wrong last msg ID */
    {10071, VERDICT_RETRY},    /* wrong last sequence: 17 */
    {10076, VERDICT_WAIT},     /* JetStream not enabled */
    {10077, VERDICT_WAIT},     /* maximum messages, or bytes, exceeded */
    {10097, VERDICT_REJECTED}, /* header size exceeds maximum allowed of 64k */
    {10109, VERDICT_WAIT},     /* invalid operation on sealed stream */
    {10118, VERDICT_WAIT},     /* stream is offline */
    {10120, VERDICT_WAIT},     /* no JetStream default or applicable tiered limit present */
    {10158, VERDICT_WAIT},     /* duplicate message id is in process */
    {10164, VERDICT_RETRY},    /* wrong last sequence */
    {10167, VERDICT_WAIT},     /* too many requests */
    {10169, VERDICT_WAIT},     /* message counter increment is missing */
    {10194, VERDICT_WAIT},     /* stream is offline: why */
};

static enum verdict expected_of_code(int code)
{
    for (size_t i = 0; i < sizeof of_code / sizeof *of_code; i++)
        if (of_code[i].code == code)
            return of_code[i].verdict;
    return VERDICT_RETRY;
}

TEST(each_code_of_a_server_has_its_verdict_and_an_unknown_one_costs_an_attempt)
{
    for (int code = -1; code < 20000; code++)
        if (nats_verdict_of(NATS_ERR, code) != expected_of_code(code))
            fail_msg("code %d: verdict %d, not %d", code, (int)nats_verdict_of(NATS_ERR, code),
                     (int)expected_of_code(code));
}

static enum verdict expected_of_status(natsStatus status)
{
    switch (status) {
    case NATS_NO_RESPONDERS:
    case NATS_NOT_PERMITTED:
    case NATS_ERR:
        return VERDICT_WAIT;
    case NATS_MAX_PAYLOAD:
    case NATS_INVALID_SUBJECT:
    case NATS_INVALID_ARG:
        return VERDICT_REJECTED;
    default:
        return VERDICT_PENDING;
    }
}

TEST(any_other_status_of_the_library_is_a_broker_that_is_down)
{
    for (int status = NATS_ERR; status <= NATS_MISMATCH + 10; status++)
        assert_int_equal(nats_verdict_of((natsStatus)status, 0),
                         expected_of_status((natsStatus)status));
    assert_int_equal(nats_verdict_of(NATS_TIMEOUT, 0), VERDICT_PENDING);
    assert_int_equal(nats_verdict_of(NATS_CONNECTION_CLOSED, 0), VERDICT_PENDING);
    assert_int_equal(nats_verdict_of(NATS_STALE_CONNECTION, 0), VERDICT_PENDING);
    assert_int_equal(nats_verdict_of(NATS_SLOW_CONSUMER, 0), VERDICT_PENDING);
    assert_int_equal(nats_verdict_of(NATS_IO_ERROR, 0), VERDICT_PENDING);
    assert_int_equal(nats_verdict_of(NATS_NO_MEMORY, 0), VERDICT_PENDING);
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
