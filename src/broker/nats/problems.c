/*
 * Permission errors. A publish that the server does not permit gets no reply, only an asynchronous
 * error that quotes the subject and that the library reports on a thread of its own. If it went
 * unnoticed, the broker would seem to be away. That thread records the subject, and the lane picks
 * it up later.
 *
 * These structs are never freed, because nats.c does not say when its last callback for a
 * connection has returned. They go back to a pool for the next broker, so there are never more of
 * them than brokers existed at the same time.
 */

#include "broker/nats/nats.h"

#include "base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NOTED_BYTES_MAX (1024 * 1024) /* more would mean a defective server */

struct nats_problems {
    pthread_mutex_t mutex;
    const natsConnection *connection; /* the one whose errors are recorded; not dereferenced */
    int signal;                       /* an eventfd; -1: none, and the lane polls */
    char *noted;                      /* quoted subjects, each NUL-terminated */
    size_t noted_len;
    size_t noted_taken;
    struct nats_problems *next; /* in the pool */
};

static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct nats_problems *pool;
static unsigned times_taken;

static struct nats_problems *make(void)
{
    struct nats_problems *problems = calloc(1, sizeof *problems);

    if (problems == NULL)
        return NULL;
    if (pthread_mutex_init(&problems->mutex, NULL) != 0) {
        free(problems);
        return NULL;
    }
    problems->signal = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return problems;
}

struct nats_problems *nats_problems_take(unsigned *number)
{
    struct nats_problems *problems;

    (void)pthread_mutex_lock(&pool_mutex);
    problems = pool;
    if (problems != NULL)
        pool = problems->next;
    else
        problems = make();
    *number = times_taken++;
    (void)pthread_mutex_unlock(&pool_mutex);
    return problems;
}

void nats_problems_return(struct nats_problems *problems)
{
    nats_problems_watch(problems, NULL);
    (void)pthread_mutex_lock(&pool_mutex);
    problems->next = pool;
    pool = problems;
    (void)pthread_mutex_unlock(&pool_mutex);
}

/* Call with the mutex held. */
static void forget(struct nats_problems *problems)
{
    uint64_t raised;

    free(problems->noted);
    problems->noted = NULL;
    problems->noted_len = 0;
    problems->noted_taken = 0;
    (void)!read(problems->signal, &raised, sizeof raised);
}

void nats_problems_watch(struct nats_problems *problems, const natsConnection *connection)
{
    (void)pthread_mutex_lock(&problems->mutex);
    problems->connection = connection;
    forget(problems);
    (void)pthread_mutex_unlock(&problems->mutex);
}

int nats_problems_signal(const struct nats_problems *problems)
{
    return problems->signal;
}

/* Call with the mutex held. When out of memory the subject is forgotten, and its message stays
 * unanswered. */
static void note(struct nats_problems *problems, const char *quoted)
{
    size_t len = strnlen(quoted, NATS_TEXT_BYTES - 1);
    const uint64_t raised = 1;
    char *grown = problems->noted_len < NOTED_BYTES_MAX
                      ? realloc(problems->noted, problems->noted_len + len + 1)
                      : NULL;

    if (grown == NULL)
        return;
    memcpy(grown + problems->noted_len, quoted, len);
    grown[problems->noted_len + len] = '\0';
    problems->noted = grown;
    problems->noted_len += len + 1;
    (void)!write(problems->signal, &raised, sizeof raised);
}

bool nats_problems_next(struct nats_problems *problems, char quoted[NATS_TEXT_BYTES])
{
    bool found;

    (void)pthread_mutex_lock(&problems->mutex);
    found = problems->noted_taken < problems->noted_len;
    if (found) {
        const char *next = problems->noted + problems->noted_taken;

        problems->noted_taken += strlen(next) + 1;
        (void)snprintf(quoted, NATS_TEXT_BYTES, "%s", next);
    } else if (problems->noted_len > 0) {
        forget(problems);
    }
    (void)pthread_mutex_unlock(&problems->mutex);
    return found;
}

/* Runs on one of the library's threads. */
static void on_problem(natsConnection *connection, natsSubscription *subscription,
                       natsStatus status, void *closure)
{
    static const char forbidden[] = "Permissions Violation for Publish to \"";
    struct nats_problems *problems = closure;
    const char *text = nats_GetLastError(NULL);
    const char *found = text != NULL ? strstr(text, forbidden) : NULL;

    (void)subscription;
    log_event(LOG_DEBUG, LOG_FIELDS(.error = text), "nats: %s", natsStatus_GetText(status));
    if (found == NULL)
        return;
    (void)pthread_mutex_lock(&problems->mutex);
    if (problems->connection == connection)
        note(problems, found + sizeof forbidden - 1);
    (void)pthread_mutex_unlock(&problems->mutex);
}

natsStatus nats_problems_set(natsOptions *library, struct nats_problems *problems)
{
    return natsOptions_SetErrorHandler(library, on_problem, problems);
}

/* The server escapes the subject like Go's %q, and the library truncates the text to 255 bytes, in
 * which case only the beginning is compared. */
bool nats_is_quoted(const char *quoted, struct text subject)
{
    size_t at = 0;

    for (; *quoted != '\0' && *quoted != '"'; quoted++, at++) {
        if (*quoted == '\\' && quoted[1] != '\0')
            quoted++;
        if (at >= subject.len || *quoted != subject.data[at])
            return false;
    }
    return *quoted == '\0' || at == subject.len;
}
