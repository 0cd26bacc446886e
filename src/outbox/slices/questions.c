#include "outbox/slices/questions.h"

#include <stdio.h>
#include <string.h>

void questions_ask(struct questions *questions, const char *token)
{
    if (questions->count < QUESTIONS_MAX && strlen(token) == STATUS_TOKEN_BYTES - 1 &&
        strspn(token, "0123456789abcdef") == STATUS_TOKEN_BYTES - 1)
        (void)snprintf(questions->tokens[questions->count++], STATUS_TOKEN_BYTES, "%s", token);
}

static void on_notification(void *closure, const char *channel, const char *payload, int pid)
{
    (void)pid;
    if (strcmp(channel, STATUS_CHANNEL) == 0)
        questions_ask(closure, payload);
}

int questions_listen(struct questions *questions, struct session *session, struct error *error)
{
    questions->count = 0;
    session->notifications.on_arrival = on_notification;
    session->notifications.closure = questions;
    return session_execute(session, "LISTEN " STATUS_CHANNEL, error);
}

/* A transaction that only notifies still commits, so synchronous_commit is off: it must not wait
 * for a standby. If the transaction fails, for example because another session's commit holds the
 * queue's lock, the question gets no reply. */
int questions_answer(struct questions *questions, struct session *session,
                     const struct watch_process *process, uint32_t table, struct error *error)
{
    char payload[STATUS_ANSWER_BYTES];
    char channel[64];
    const char *params[2] = {channel, payload};

    if (questions->count == 0)
        return 0;
    (void)process->describe(process->closure, table, payload);
    while (questions->count > 0) {
        (void)snprintf(channel, sizeof channel, STATUS_ANSWER_CHANNEL "%s",
                       questions->tokens[--questions->count]);
        if (session_command(session,
                            "SELECT pg_catalog.set_config('synchronous_commit', 'off', true),"
                            " pg_catalog.pg_notify($1, $2)",
                            2, params, error) < 0 &&
            session->conn == NULL)
            return -1;
    }
    return 0;
}
