/*
 * From an answer to a verdict: one table.
 *
 * Guarantee: an error of the stream, the account or the cluster makes a message wait and does not
 * count as an attempt. Only an error about the message itself rejects it. A missing answer says
 * nothing about the message, only that the broker is down. A code that is not in the table counts
 * as an attempt, so that it cannot block a message for ever.
 *
 * The table has all codes of the server's errors.json, up to version 2.12, that may answer a
 * publish, except those about atomic batches, which say nothing about a single message (publish.c),
 * and about headers that a relay never sends. Should one of these arrive for a single message, it
 * counts as an attempt, like any code that is not in the table.
 */

#include "broker/nats/nats.h"

/* Codes that the library does not define. */
#define HEADER_TOO_LARGE 10097
#define DUPLICATE_IN_PROCESS 10158
#define WRONG_LAST_SEQUENCE 10164
#define TOO_MANY_REQUESTS 10167
#define COUNTER_STREAM 10169
#define STREAM_OFFLINE_WITH_REASON 10194

static const struct rule {
    natsStatus status;
    int code;
    enum verdict verdict;
    const char *why; /* NULL: the server's or library's own text */
} rules[] = {
    /* ---- from the library, without an answer ---- */
    {NATS_NO_RESPONDERS, 0, VERDICT_WAIT, "no stream has a subject that matches"},
    {NATS_NOT_PERMITTED, 0, VERDICT_WAIT, "not permitted to publish to"},
    {NATS_MAX_PAYLOAD, 0, VERDICT_REJECTED, NULL},
    {NATS_INVALID_SUBJECT, 0, VERDICT_REJECTED, NULL},
    {NATS_INVALID_ARG, 0, VERDICT_REJECTED, NULL},
    /* ---- answers without a code: a leader election, or a replier that is not a stream ---- */
    {NATS_ERR, 0, VERDICT_WAIT, NULL},
    /* ---- about the message itself ---- */
    {NATS_ERR, JSStreamMessageExceedsMaximumErr, VERDICT_REJECTED, NULL},
    {NATS_ERR, HEADER_TOO_LARGE, VERDICT_REJECTED, NULL},
    /* The relay does not send such an expectation. Whatever adds it may stop doing so. */
    {NATS_ERR, JSStreamWrongLastMsgIDErr, VERDICT_RETRY, NULL},
    {NATS_ERR, JSStreamWrongLastSequenceErr, VERDICT_RETRY, NULL},
    {NATS_ERR, WRONG_LAST_SEQUENCE, VERDICT_RETRY, NULL},
    /* The first copy is still being replicated. When the message is sent again, the stream will
     * know. */
    {NATS_ERR, DUPLICATE_IN_PROCESS, VERDICT_WAIT, NULL},
    /* ---- about the stream ---- */
    {NATS_ERR, JSStreamStoreFailedErr, VERDICT_WAIT, NULL}, /* the stream is full */
    {NATS_ERR, JSStreamNotMatchErr, VERDICT_WAIT,
     "expected stream does not match: the subject belongs to another stream"},
    {NATS_ERR, JSStreamNotFoundErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSStreamSealedErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSStreamOfflineErr, VERDICT_WAIT, NULL},
    {NATS_ERR, STREAM_OFFLINE_WITH_REASON, VERDICT_WAIT, NULL},
    {NATS_ERR, JSStreamSequenceNotMatchErr, VERDICT_WAIT, NULL}, /* its replicas disagree */
    {NATS_ERR, TOO_MANY_REQUESTS, VERDICT_WAIT, NULL},
    {NATS_ERR, COUNTER_STREAM, VERDICT_WAIT, NULL}, /* the stream accepts only counters */
    /* ---- about the account and its limits ---- */
    {NATS_ERR, JSAccountResourcesExceededErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSInsufficientResourcesErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSMemoryResourcesExceededErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSStorageResourcesExceededErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSNoAccountErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSNoLimitsErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSNotEnabledErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSNotEnabledForAccountErr, VERDICT_WAIT, NULL},
    /* ---- about the cluster ---- */
    {NATS_ERR, JSClusterIncompleteErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSClusterNotActiveErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSClusterNotAssignedErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSClusterNotAvailErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSClusterNotLeaderErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSClusterRequiredErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSClusterUnSupportFeatureErr, VERDICT_WAIT, NULL},
    {NATS_ERR, JSRaftGeneralErr, VERDICT_WAIT, NULL},
};

/* An unknown code is attributed to the message. An unknown status is attributed to the connection:
 * timeout, closed, stale, failed write, out of memory. */
static const struct rule unknown_code = {NATS_ERR, 0, VERDICT_RETRY, NULL};
static const struct rule broker_down = {NATS_TIMEOUT, 0, VERDICT_PENDING, NULL};

static const struct rule *rule_of(natsStatus status, int code)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].status == status && rules[i].code == code)
            return &rules[i];
    return status == NATS_ERR ? &unknown_code : &broker_down;
}

enum verdict nats_verdict_of(natsStatus status, int code)
{
    return rule_of(status, code)->verdict;
}

static void judge_refusal(struct batch *batch, struct message *message,
                          const struct nats_answer *answer, const char *stream)
{
    const struct rule *rule = rule_of(answer->status, answer->code);
    const char *why = rule->why != NULL ? rule->why : answer->text;

    if (rule->verdict == VERDICT_PENDING)
        return;
    if (answer->code != 0)
        batch_refuse(batch, message, rule->verdict, "stream \"%.64s\": %s (%d)", stream, why,
                     answer->code);
    else if (answer->status == NATS_ERR)
        batch_refuse(batch, message, rule->verdict, "the reply was not an acknowledgement: %s",
                     why);
    else
        batch_refuse(batch, message, rule->verdict, "%s \"%.*s\"", why,
                     (int)message->destination.len, message->destination.data);
}

void nats_judge(struct batch *batch, struct message *message, const struct nats_answer *answer,
                const char *stream)
{
    switch (answer->state) {
    case NATS_STORED:
        message->verdict = VERDICT_SENT;
        break;
    case NATS_STORED_ELSEWHERE:
        batch_refuse(batch, message, VERDICT_WAIT, "acknowledged by %s, not by \"%.64s\"",
                     answer->text, stream);
        break;
    case NATS_REFUSED:
        judge_refusal(batch, message, answer, stream);
        break;
    case NATS_NOT_EXPECTED:
    case NATS_IN_CHUNK:
    case NATS_EXPECTED:
    case NATS_DUPLICATE:
        break;
    }
}
