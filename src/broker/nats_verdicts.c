/*
 * From an answer to a verdict.
 *
 * Guarantee: an error of the stream, the account or the cluster lets a message wait and costs no
 * attempt; only what the server says of this very message rejects it. A code that is not in this
 * table counts as an attempt, so that it cannot block a key for ever.
 */

#include "broker/nats_acks.h"

#define HEADER_TOO_LARGE 10097           /* not in the library's list of codes */
#define TOO_MANY_REQUESTS 10167          /* nor this */
#define STREAM_OFFLINE_WITH_REASON 10194 /* nor this */

static enum verdict verdict_of(int code)
{
    switch (code) {
    case JSStreamMessageExceedsMaximumErr:
    case HEADER_TOO_LARGE:
        return VERDICT_REJECTED;
    /* 503 of HTTP: the server is not able to */
    case JSClusterIncompleteErr:
    case JSClusterNotAvailErr:
    case JSClusterRequiredErr:
    case JSClusterUnSupportFeatureErr:
    case JSInsufficientResourcesErr:
    case JSNoAccountErr:
    case JSNotEnabledErr:
    case JSNotEnabledForAccountErr:
    case JSStreamSequenceNotMatchErr:
    case JSStreamStoreFailedErr: /* the stream is full */
    /* other codes of HTTP, none of them about a message */
    case JSAccountResourcesExceededErr:
    case JSClusterNotActiveErr:
    case JSClusterNotAssignedErr:
    case JSClusterNotLeaderErr:
    case JSMemoryResourcesExceededErr:
    case JSNoLimitsErr:
    case JSRaftGeneralErr:
    case JSStorageResourcesExceededErr:
    case JSStreamNotFoundErr:
    case JSStreamNotMatchErr:
    case JSStreamOfflineErr:
    case JSStreamSealedErr:
    case STREAM_OFFLINE_WITH_REASON:
    case TOO_MANY_REQUESTS:
        return VERDICT_WAIT;
    default:
        return VERDICT_RETRY;
    }
}

void nats_judge(struct batch *batch, struct message *message, const struct nats_answer *answer,
                const char *stream)
{
    int len = (int)message->destination.len;
    const char *subject = message->destination.data;

    switch (answer->state) {
    case NATS_STORED:
        message->verdict = VERDICT_SENT;
        break;
    case NATS_STORED_ELSEWHERE:
        batch_refuse(batch, message, VERDICT_WAIT, "acknowledged by %s, not by \"%.64s\"",
                     answer->text, stream);
        break;
    case NATS_REFUSED:
        batch_refuse(batch, message, verdict_of(answer->code), "stream \"%.64s\": %s (%d)", stream,
                     answer->text, answer->code);
        break;
    case NATS_UNFIT:
        batch_refuse(batch, message, VERDICT_REJECTED, "%s", answer->text);
        break;
    case NATS_NO_STREAM:
        batch_refuse(batch, message, VERDICT_WAIT, "no stream takes subject \"%.*s\"", len,
                     subject);
        break;
    case NATS_FORBIDDEN:
        batch_refuse(batch, message, VERDICT_WAIT, "not permitted to publish to \"%.*s\"", len,
                     subject);
        break;
    case NATS_NOT_EXPECTED:
    case NATS_EXPECTED:
    case NATS_UNANSWERED:
        break;
    }
}
