/*
 * Acknowledgements, on their way from the library's threads to the lane.
 *
 * nats.c knows no closure per message, so each acknowledgement is mapped back by the pointer of
 * the message it belongs to: the lane enters all pointers of a batch before it publishes the first,
 * and waits until none is left, the connection is lost, or its deadline has come.
 *
 * Guarantee: after await() the table is empty, and whatever the library still reports is not found
 * in it and ignored. A pointer cannot mislead: as long as a late report holds its message, no other
 * message has that address.
 *
 * These structs are never freed, because nats.c does not say when its last callback on a context
 * or connection has returned. They go to a pool and from there to the next broker, so that there
 * are as many as brokers were ever alive at once. Their batch is touched only through the table,
 * under the mutex, and thus never after await().
 */

#include "broker/nats.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS_MIN 1024
#define HEADER_TOO_LARGE 10097 /* not in the library's list of codes */

static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct nats_acks *pool;
static unsigned pool_made;

static struct nats_acks *make(void)
{
    struct nats_acks *acks = calloc(1, sizeof *acks);
    pthread_condattr_t attributes;

    if (acks == NULL)
        return NULL;
    if (pthread_mutex_init(&acks->mutex, NULL) != 0 || pthread_condattr_init(&attributes) != 0) {
        free(acks);
        return NULL;
    }
    if (pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) != 0 ||
        pthread_cond_init(&acks->ended, &attributes) != 0) {
        free(acks);
        acks = NULL;
    }
    (void)pthread_condattr_destroy(&attributes);
    return acks;
}

struct nats_acks *nats_acks_take(void)
{
    struct nats_acks *acks;

    (void)pthread_mutex_lock(&pool_mutex);
    acks = pool;
    if (acks != NULL)
        pool = acks->next;
    else
        acks = make();
    if (acks != NULL)
        acks->number = pool_made++;
    (void)pthread_mutex_unlock(&pool_mutex);
    return acks;
}

/* The connection may have closed before anybody watched it. */
void nats_acks_watch(struct nats_acks *acks, natsConnection *connection)
{
    bool closed = connection != NULL && natsConnection_IsClosed(connection);

    (void)pthread_mutex_lock(&acks->mutex);
    acks->lost = closed;
    acks->connection = connection;
    (void)pthread_mutex_unlock(&acks->mutex);
    if (connection != NULL && !closed && natsConnection_IsClosed(connection))
        on_lost(connection, acks);
}

bool nats_acks_lost(struct nats_acks *acks)
{
    bool lost;

    (void)pthread_mutex_lock(&acks->mutex);
    lost = acks->lost;
    (void)pthread_mutex_unlock(&acks->mutex);
    return lost;
}

static size_t slots_for(int count)
{
    size_t slots = SLOTS_MIN;

    while (slots < 2 * (size_t)count)
        slots *= 2;
    return slots;
}

static void empty_slots(struct nats_acks *acks)
{
    if (acks->slots != NULL)
        memset(acks->slots, 0, acks->slot_count * sizeof *acks->slots);
}

static int reserve_slots(struct nats_acks *acks, int count)
{
    size_t wanted = slots_for(count);

    if (acks->slot_count >= wanted)
        return 0;
    free(acks->slots);
    acks->slots = calloc(wanted, sizeof *acks->slots);
    acks->slot_count = acks->slots != NULL ? wanted : 0;
    return acks->slots != NULL ? 0 : -1;
}

static int reserve_built(struct nats_acks *acks, int count)
{
    natsMsg **grown;

    if (acks->built_capacity >= count)
        return 0;
    grown = realloc(acks->built, (size_t)count * sizeof(*grown));
    if (grown == NULL)
        return -1;
    acks->built = grown;
    acks->built_capacity = count;
    return 0;
}

int nats_acks_begin(struct nats_acks *acks, struct batch *batch, const char *stream)
{
    int status = 0;

    (void)pthread_mutex_lock(&acks->mutex);
    acks->batch = batch;
    acks->stream = stream;
    acks->outstanding = 0;
    acks->unanswered = 0;
    acks->duplicates = 0;
    if (reserve_slots(acks, batch->count) < 0 || reserve_built(acks, batch->count) < 0) {
        acks->unanswered = batch->count;
        status = -1;
    }
    empty_slots(acks);
    (void)pthread_mutex_unlock(&acks->mutex);
    for (int i = 0; status == 0 && i < batch->count; i++)
        acks->built[i] = NULL;
    return status;
}

/* Where the pointer stands, or the free slot where it would. */
static struct nats_slot *slot_of(struct nats_acks *acks, const natsMsg *key)
{
    size_t at = (size_t)((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u;

    for (at >>= 20;; at++) {
        struct nats_slot *slot = &acks->slots[at & (acks->slot_count - 1)];

        if (slot->key == key || slot->key == NULL)
            return slot;
    }
}

void nats_acks_expect(struct nats_acks *acks)
{
    (void)pthread_mutex_lock(&acks->mutex);
    for (int i = 0; i < acks->batch->count; i++) {
        const natsMsg *key = acks->built[i];

        if (key == NULL)
            continue;
        *slot_of(acks, key) = (struct nats_slot){key, &acks->batch->messages[i]};
        acks->outstanding++;
    }
    (void)pthread_mutex_unlock(&acks->mutex);
}

/* NULL when nobody waits for it any more: a late report. */
static struct message *take_message(struct nats_acks *acks, const natsMsg *key)
{
    struct nats_slot *slot = acks->outstanding > 0 ? slot_of(acks, key) : NULL;
    struct message *message = slot != NULL ? slot->message : NULL;

    if (message == NULL)
        return NULL;
    slot->message = NULL;
    if (--acks->outstanding == 0)
        (void)pthread_cond_signal(&acks->ended);
    return message;
}

void nats_acks_refuse(struct nats_acks *acks, const natsMsg *key, enum verdict verdict,
                      const char *reason)
{
    struct message *message;

    (void)pthread_mutex_lock(&acks->mutex);
    message = take_message(acks, key);
    if (message != NULL && reason != NULL)
        batch_refuse(acks->batch, message, verdict, "%s", reason);
    else if (message != NULL)
        acks->unanswered++;
    (void)pthread_mutex_unlock(&acks->mutex);
}

/* A positive acknowledgement can also come from another stream, or from the server's own API. */
static void judge_ack(struct nats_acks *acks, struct message *message, const jsPubAck *ack)
{
    const char *stream = ack->Stream != NULL ? ack->Stream : "";

    if (ack->Sequence > 0 && strcmp(stream, acks->stream) == 0) {
        message->verdict = VERDICT_SENT;
        acks->duplicates += ack->Duplicate;
        return;
    }
    batch_refuse(acks->batch, message, VERDICT_WAIT,
                 "acknowledged by stream \"%.64s\" as number %llu, not by \"%.64s\"", stream,
                 (unsigned long long)ack->Sequence, acks->stream);
}

static enum verdict verdict_of(const jsPubAckErr *refusal)
{
    switch ((int)refusal->ErrCode) {
    case JSStreamMessageExceedsMaximumErr:
    case HEADER_TOO_LARGE:
        return VERDICT_REJECTED;
    case JSStreamStoreFailedErr: /* the stream is full */
    case JSStreamNotFoundErr:
    case JSStreamNotMatchErr:
    case JSNotEnabledErr:
    case JSNotEnabledForAccountErr:
    case JSAccountResourcesExceededErr:
    case JSInsufficientResourcesErr:
    case JSMemoryResourcesExceededErr:
    case JSStorageResourcesExceededErr:
    case JSClusterNotAvailErr:
    case JSClusterNotLeaderErr:
        return VERDICT_WAIT;
    default:
        return VERDICT_RETRY;
    }
}

static void judge_refusal(struct nats_acks *acks, struct message *message,
                          const jsPubAckErr *refusal)
{
    const char *text =
        refusal->ErrText != NULL ? refusal->ErrText : natsStatus_GetText(refusal->Err);

    switch (refusal->Err) {
    case NATS_TIMEOUT:
    case NATS_CONNECTION_CLOSED:
    case NATS_CONNECTION_DISCONNECTED:
        acks->unanswered++;
        break;
    case NATS_NO_RESPONDERS:
        batch_refuse(acks->batch, message, VERDICT_WAIT, "no stream takes subject \"%.*s\"",
                     (int)message->destination.len, message->destination.data);
        break;
    default:
        batch_refuse(acks->batch, message, verdict_of(refusal), "stream \"%.64s\": %.256s (%d)",
                     acks->stream, text, (int)refusal->ErrCode);
    }
}

/* Runs on a thread of the library; the message is ours to destroy. */
void on_ack(jsCtx *context, natsMsg *key, jsPubAck *ack, jsPubAckErr *refusal, void *closure)
{
    struct nats_acks *acks = closure;
    struct message *message;

    (void)context;
    (void)pthread_mutex_lock(&acks->mutex);
    message = take_message(acks, key);
    if (message != NULL && ack != NULL)
        judge_ack(acks, message, ack);
    else if (message != NULL && refusal != NULL)
        judge_refusal(acks, message, refusal);
    else if (message != NULL)
        acks->unanswered++;
    (void)pthread_mutex_unlock(&acks->mutex);
    natsMsg_Destroy(key);
}

/* Runs on a thread of the library. */
void on_lost(natsConnection *connection, void *closure)
{
    struct nats_acks *acks = closure;

    (void)pthread_mutex_lock(&acks->mutex);
    if (acks->connection == connection) {
        acks->lost = true;
        (void)pthread_cond_signal(&acks->ended);
    }
    (void)pthread_mutex_unlock(&acks->mutex);
}

static void refuse_subject(struct nats_acks *acks, struct text subject)
{
    for (size_t i = 0; i < acks->slot_count; i++) {
        struct message *message = acks->slots[i].message;

        if (message == NULL || !text_equal(message->destination, subject))
            continue;
        (void)take_message(acks, acks->slots[i].key);
        batch_refuse(acks->batch, message, VERDICT_WAIT, "not permitted to publish to \"%.*s\"",
                     (int)subject.len, subject.data);
    }
}

/* Runs on a thread of the library. A publish that the server does not permit gets no reply, only
 * this, with the subject in quotes. Unnoticed it would look like a broker that is away. */
void on_problem(natsConnection *connection, natsSubscription *subscription, natsStatus status,
                void *closure)
{
    struct nats_acks *acks = closure;
    const char *text = nats_GetLastError(NULL);
    const char *quoted = text != NULL ? strchr(text, '"') : NULL;

    (void)subscription;
    log_debug("nats: %s: %s", natsStatus_GetText(status), text != NULL ? text : "");
    if (quoted == NULL)
        return;
    (void)pthread_mutex_lock(&acks->mutex);
    if (acks->connection == connection && acks->outstanding > 0)
        refuse_subject(acks, (struct text){quoted + 1, strcspn(quoted + 1, "\"")});
    (void)pthread_mutex_unlock(&acks->mutex);
}

static struct timespec timespec_of(int64_t ms)
{
    return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
}

/* From here on a late report finds nothing. */
static void forget_batch(struct nats_acks *acks)
{
    acks->outstanding = 0;
    acks->unanswered = 0;
    acks->duplicates = 0;
    acks->batch = NULL;
    empty_slots(acks);
}

int nats_acks_await(struct nats_acks *acks, int64_t deadline_ms)
{
    struct timespec deadline = timespec_of(deadline_ms);
    int unanswered;
    int duplicates;

    (void)pthread_mutex_lock(&acks->mutex);
    while (acks->outstanding > 0 && !acks->lost)
        if (pthread_cond_timedwait(&acks->ended, &acks->mutex, &deadline) == ETIMEDOUT)
            break;
    unanswered = acks->unanswered + acks->outstanding;
    duplicates = acks->duplicates;
    forget_batch(acks);
    (void)pthread_mutex_unlock(&acks->mutex);
    if (duplicates > 0)
        log_debug("nats: %d messages were in the stream already", duplicates);
    return unanswered;
}

void nats_acks_return(struct nats_acks *acks)
{
    (void)pthread_mutex_lock(&acks->mutex);
    forget_batch(acks);
    (void)pthread_mutex_unlock(&acks->mutex);
    (void)pthread_mutex_lock(&pool_mutex);
    acks->next = pool;
    pool = acks;
    (void)pthread_mutex_unlock(&pool_mutex);
}
