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
    /* ---- about the stream ---- */
    {NATS_ERR, JSStreamNotMatchErr, VERDICT_WAIT,
     "expected stream does not match: the subject belongs to another stream"},
};

/* Codes with which the message waits. */
static const int waits[] = {
    /* The first copy is still being replicated. When the message is sent again, the stream will
     * know. */
    DUPLICATE_IN_PROCESS,
    /* ---- about the stream: it is full, its replicas disagree, it accepts only counters ---- */
    JSStreamStoreFailedErr, JSStreamNotFoundErr, JSStreamSealedErr, JSStreamOfflineErr,
    STREAM_OFFLINE_WITH_REASON, JSStreamSequenceNotMatchErr, TOO_MANY_REQUESTS, COUNTER_STREAM,
    /* ---- about the account and its limits ---- */
    JSAccountResourcesExceededErr, JSInsufficientResourcesErr, JSMemoryResourcesExceededErr,
    JSStorageResourcesExceededErr, JSNoAccountErr, JSNoLimitsErr, JSNotEnabledErr,
    JSNotEnabledForAccountErr,
    /* ---- about the cluster ---- */
    JSClusterIncompleteErr, JSClusterNotActiveErr, JSClusterNotAssignedErr, JSClusterNotAvailErr,
    JSClusterNotLeaderErr, JSClusterRequiredErr, JSClusterUnSupportFeatureErr, JSRaftGeneralErr};

/* An unknown code is attributed to the message. An unknown status is attributed to the connection:
 * timeout, closed, stale, failed write, out of memory. */
static const struct rule waiting = {NATS_ERR, 0, VERDICT_WAIT, NULL};
static const struct rule unknown_code = {NATS_ERR, 0, VERDICT_RETRY, NULL};
static const struct rule broker_down = {NATS_TIMEOUT, 0, VERDICT_PENDING, NULL};

static const struct rule *rule_of(natsStatus status, int code)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].status == status && rules[i].code == code)
            return &rules[i];
    for (size_t i = 0; status == NATS_ERR && i < sizeof waits / sizeof *waits; i++)
        if (waits[i] == code)
            return &waiting;
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
