/*
 * Acknowledgements, on their way from the library's threads to the lane.
 *
 * nats.c knows no closure per message, so each acknowledgement is mapped back by the pointer of
 * the message it belongs to: the lane enters all pointers of a batch before it publishes the first,
 * and waits until none is left, the connection is lost, or its deadline has come.
 *
 * Guarantee: the library's threads never see the batch. While they answer, the lane's thread sends
 * to its next sink out of the same batch, whose memory has no lock. They fill in answers of fixed
 * size, found by pointer and numbered by place in the batch; await() turns these into verdicts on
 * the lane's own thread. After await() the table is empty, and whatever the library still reports
 * is not found in it and ignored. A pointer cannot mislead: as long as a late report holds its
 * message, no other message has that address.
 *
 * These structs are never freed, because nats.c does not say when its last callback on a context
 * or connection has returned. They go to a pool and from there to the next broker, so that there
 * are as many as brokers were ever alive at once.
 */

#include "broker/nats_acks.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS_MIN 1024

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
    acks->may_not_fetch = false;
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

bool nats_acks_may_not_fetch(struct nats_acks *acks)
{
    bool may_not;

    (void)pthread_mutex_lock(&acks->mutex);
    may_not = acks->may_not_fetch;
    (void)pthread_mutex_unlock(&acks->mutex);
    return may_not;
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

static int reserve_answers(struct nats_acks *acks, int count)
{
    struct nats_answer *grown;

    if (acks->answer_capacity >= count)
        return 0;
    grown = realloc(acks->answers, (size_t)count * sizeof *grown);
    if (grown == NULL)
        return -1;
    acks->answers = grown;
    acks->answer_capacity = count;
    return 0;
}

/* From here on a late report finds nothing, and the answers are the lane's. */
static void forget(struct nats_acks *acks)
{
    acks->outstanding = 0;
    empty_slots(acks);
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

static void set_text(struct nats_answer *answer, const char *text)
{
    (void)snprintf(answer->text, sizeof answer->text, "%s", text != NULL ? text : "");
}

static void enter(struct nats_acks *acks, const natsMsg *key, int place)
{
    struct nats_answer *answer = &acks->answers[place];

    answer->state = key != NULL ? NATS_EXPECTED : NATS_NOT_EXPECTED;
    answer->code = 0;
    if (key == NULL)
        return;
    set_text(answer, natsMsg_GetSubject(key));
    *slot_of(acks, key) = (struct nats_slot){key, place};
    acks->outstanding++;
}

int nats_acks_expect(struct nats_acks *acks, natsMsg *const *built, int count, const char *stream)
{
    int status = -1;

    (void)pthread_mutex_lock(&acks->mutex);
    acks->stream = stream;
    acks->count = 0;
    if (reserve_slots(acks, count) == 0 && reserve_answers(acks, count) == 0) {
        acks->count = count;
        status = 0;
    }
    forget(acks);
    for (int i = 0; i < acks->count; i++)
        enter(acks, built[i], i);
    (void)pthread_mutex_unlock(&acks->mutex);
    return status;
}

/* NULL when nobody waits for it any more. */
static struct nats_answer *take_answer(struct nats_acks *acks, int place, enum nats_state state)
{
    struct nats_answer *answer = &acks->answers[place];

    if (acks->outstanding == 0 || answer->state != NATS_EXPECTED)
        return NULL;
    answer->state = state;
    if (--acks->outstanding == 0)
        (void)pthread_cond_signal(&acks->ended);
    return answer;
}

static void note_refusal(struct nats_answer *answer, natsStatus status, int code, const char *text)
{
    answer->status = status;
    answer->code = code;
    set_text(answer, text != NULL ? text : natsStatus_GetText(status));
}

void nats_acks_refuse(struct nats_acks *acks, int place, natsStatus status)
{
    struct nats_answer *answer;

    (void)pthread_mutex_lock(&acks->mutex);
    answer = take_answer(acks, place, NATS_REFUSED);
    if (answer != NULL)
        note_refusal(answer, status, 0, NULL);
    (void)pthread_mutex_unlock(&acks->mutex);
}

/* A positive acknowledgement can also come from another stream, or from the server's own API. A
 * duplicate without a number is no proof (nats_duplicates.c): servers note an id before its message
 * is stored, and a stream with interest retention keeps nothing that no consumer wants. */
static void note_ack(struct nats_acks *acks, struct nats_answer *answer, const jsPubAck *ack)
{
    const char *stream = ack->Stream != NULL ? ack->Stream : "";

    answer->sequence = ack->Sequence;
    if (strcmp(stream, acks->stream) == 0 && (ack->Sequence > 0 || ack->Duplicate)) {
        answer->state = ack->Duplicate ? NATS_DUPLICATE : NATS_STORED;
        return;
    }
    answer->state = NATS_STORED_ELSEWHERE;
    (void)snprintf(answer->text, sizeof answer->text, "stream \"%.64s\" as number %llu", stream,
                   (unsigned long long)ack->Sequence);
}

/* What is neither silence nor a refusal is an answer that the library cannot read. */
static natsStatus status_of(const jsPubAckErr *refusal)
{
    switch (refusal->Err) {
    case NATS_TIMEOUT:
    case NATS_CONNECTION_CLOSED:
    case NATS_CONNECTION_DISCONNECTED:
    case NATS_NO_RESPONDERS:
        return refusal->Err;
    default:
        return NATS_ERR;
    }
}

/* NULL: a late report. */
static struct nats_answer *find_answer(struct nats_acks *acks, const natsMsg *key)
{
    struct nats_slot *slot = acks->outstanding > 0 ? slot_of(acks, key) : NULL;

    if (slot == NULL || slot->key == NULL)
        return NULL;
    return take_answer(acks, slot->place, NATS_REFUSED);
}

/* Runs on a thread of the library; the message is ours to destroy. */
void on_ack(jsCtx *context, natsMsg *key, jsPubAck *ack, jsPubAckErr *refusal, void *closure)
{
    struct nats_acks *acks = closure;
    struct nats_answer *answer;

    (void)context;
    (void)pthread_mutex_lock(&acks->mutex);
    answer = find_answer(acks, key);
    if (answer != NULL && ack != NULL)
        note_ack(acks, answer, ack);
    else if (answer != NULL && refusal != NULL)
        note_refusal(answer, status_of(refusal), (int)refusal->ErrCode, refusal->ErrText);
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

/* Whether `quoted`, up to its closing quote, is this subject. The server escapes as Go does, and
 * the library cuts its text at 255 bytes: then the beginning has to do. */
static bool is_quoted(const char *quoted, const char *subject)
{
    for (; *quoted != '\0' && *quoted != '"'; quoted++, subject++) {
        if (*quoted == '\\' && quoted[1] != '\0')
            quoted++;
        if (*quoted != *subject)
            return false;
    }
    return *quoted == '\0' || *subject == '\0';
}

static void forbid_subject(struct nats_acks *acks, const char *quoted)
{
    for (int i = 0; i < acks->count && acks->outstanding > 0; i++) {
        struct nats_answer *answer = &acks->answers[i];

        if (answer->state != NATS_EXPECTED || !is_quoted(quoted, answer->text))
            continue;
        (void)take_answer(acks, i, NATS_REFUSED);
        note_refusal(answer, NATS_NOT_PERMITTED, 0, NULL);
    }
}

/* Runs on a thread of the library. A publish that the server does not permit gets no reply, only
 * this, with the subject in quotes. Unnoticed it would look like a broker that is away. */
void on_problem(natsConnection *connection, natsSubscription *subscription, natsStatus status,
                void *closure)
{
    static const char forbidden[] = "Permissions Violation for Publish to \"";
    struct nats_acks *acks = closure;
    const char *text = nats_GetLastError(NULL);
    const char *found = text != NULL ? strstr(text, forbidden) : NULL;
    const char *quoted = found != NULL ? found + sizeof forbidden - 1 : NULL;

    (void)subscription;
    log_debug("nats: %s: %s", natsStatus_GetText(status), text != NULL ? text : "");
    if (quoted == NULL)
        return;
    (void)pthread_mutex_lock(&acks->mutex);
    if (acks->connection == connection) {
        forbid_subject(acks, quoted);
        if (strncmp(quoted, NATS_FETCH_PREFIX, sizeof NATS_FETCH_PREFIX - 1) == 0)
            acks->may_not_fetch = true;
    }
    (void)pthread_mutex_unlock(&acks->mutex);
}

static struct timespec timespec_of(int64_t ms)
{
    return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
}

/* How many have no answer. */
static int judge_all(struct nats_acks *acks, struct batch *batch)
{
    int unanswered = 0;

    for (int i = 0; i < acks->count; i++) {
        const struct nats_answer *answer = &acks->answers[i];

        if (answer->state == NATS_NOT_EXPECTED || answer->state == NATS_DUPLICATE)
            continue;
        nats_judge(batch, &batch->messages[i], answer, acks->stream);
        unanswered += batch->messages[i].verdict == VERDICT_PENDING;
    }
    return unanswered;
}

int nats_acks_await(struct nats_acks *acks, struct batch *batch, int64_t deadline_ms)
{
    struct timespec deadline = timespec_of(deadline_ms);

    (void)pthread_mutex_lock(&acks->mutex);
    while (acks->outstanding > 0 && !acks->lost)
        if (pthread_cond_timedwait(&acks->ended, &acks->mutex, &deadline) == ETIMEDOUT)
            break;
    forget(acks);
    (void)pthread_mutex_unlock(&acks->mutex);
    return judge_all(acks, batch);
}

void nats_acks_return(struct nats_acks *acks)
{
    (void)pthread_mutex_lock(&acks->mutex);
    forget(acks);
    (void)pthread_mutex_unlock(&acks->mutex);
    (void)pthread_mutex_lock(&pool_mutex);
    acks->next = pool;
    pool = acks;
    (void)pthread_mutex_unlock(&pool_mutex);
}
