/*
 * What only the relays know, by question and answer: no table has to be cleaned up after a relay
 * that was killed.
 *
 * The question is a notification on one channel for all; it carries a random token, and the answers
 * come to a channel of that name. Anybody may notify, so an answer counts only from a backend that
 * pg_stat_activity shows as a relay's, under a role that may delete from the outbox, and once.
 */
#include "admin/status/relays.h"

#include "admin/status/document.h"
#include "base/clock.h"
#include "catalog/questions.h"
#include "source/answer.h"
#include "sql/statements.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define RELAYS_ASKED_MAX 64

/* application_name is "outbox-relay/HOST:PID/LANE"; that of a process's session beside its lanes,
 * which answers, is ".../watch", or ".../away:SINK,..." (relay/watcher.c), which is all that can be
 * known of a relay that does not answer. */
struct asking {
    struct session *session;
    json_t *answers;            /* objects with the pid of the backend, and the answer */
    int pids[RELAYS_ASKED_MAX]; /* the backends that may answer; 0: it has */
    int count;
    int left;         /* answers that are still to come */
    char channel[64]; /* of the answers */
};

/* An answer is an object in ASCII with the table's oid. A database of another encoding than UTF-8
 * may not know the other characters: there their codes stand for them. */
static json_t *load(const struct asking *asking, const char *payload)
{
    char text[STATUS_ANSWER_BYTES];

    (void)snprintf(text, sizeof text, "%s", payload);
    if (strcmp(session_encoding(asking->session), "UTF8") != 0)
        for (char *at = text; (at = strchr(at, '\\')) != NULL && at[1] != '\0'; at += 2)
            if (at[1] == 'u' && strlen(at) >= 6 && (strncmp(at + 2, "00", 2) != 0 || at[4] > '7')) {
                memmove(at + 1, at + 2, 4);
                at[0] = '(';
                at[5] = ')';
            }
    return json_loads(text, 0, NULL);
}

static void on_notification(void *closure, const char *channel, const char *payload, int pid)
{
    struct asking *asking = closure;
    json_t *answer = strcmp(channel, asking->channel) == 0 ? load(asking, payload) : NULL;

    for (int i = 0; i < asking->count; i++)
        if (asking->pids[i] == pid && json_is_integer(json_object_get(answer, "table"))) {
            (void)json_array_append_new(asking->answers,
                                        json_pack("{s:i, s:O}", "pid", pid, "answer", answer));
            asking->pids[i] = 0;
            asking->left--;
        }
    json_decref(answer);
}

/* The names of the channels need no quoting. Nothing that waits for a standby may hold up the
 * question: a transaction that only notifies is a commit all the same. */
static int put_question(struct asking *asking, struct error *error)
{
    static const char ask_sql[] = "SELECT pg_catalog.set_config('synchronous_commit', 'off', true),"
                                  " pg_catalog.pg_notify('" STATUS_CHANNEL "', $1)";
    struct session *session = asking->session;
    unsigned char bytes[(STATUS_TOKEN_BYTES - 1) / 2];
    char token[STATUS_TOKEN_BYTES];
    const char *params[1] = {token};
    char sql[96];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return error_set(error, ERROR_TRANSIENT, ERROR_SELF, "getrandom failed");
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    (void)snprintf(asking->channel, sizeof asking->channel, STATUS_ANSWER_CHANNEL "%s", token);
    (void)snprintf(sql, sizeof sql, "LISTEN %s", asking->channel);
    session->notifications.on_arrival = on_notification;
    session->notifications.closure = asking;
    if (session_execute(session, sql, error) == 0 &&
        session_command(session, ask_sql, 1, params, error) == 0)
        return 0;
    asking->channel[0] = '\0';
    return -1;
}

static int hear(struct asking *asking, int wait_ms, struct error *error)
{
    int64_t deadline_ms = clock_now_ms() + wait_ms;

    session_count_notifications(asking->session);
    while (asking->left > 0 && clock_left_ms(deadline_ms) > 0)
        if (session_wait_for_input(asking->session, deadline_ms, error) < 0)
            return -1;
    return session_execute(asking->session, "UNLISTEN *", error);
}

/* Whether they were asked: 1; 0: this server is a standby, which has no LISTEN; -1. */
static int ask(struct asking *asking, const json_t *sessions, int wait_ms, struct error *error)
{
    int result = 1;

    for (size_t i = 0; i < json_array_size(sessions) && asking->count < RELAYS_ASKED_MAX; i++) {
        const json_t *part = json_object_get(json_array_get(sessions, i), "part");
        const json_t *pid = json_object_get(json_array_get(sessions, i), "pid");

        if (!isdigit((unsigned char)json_string_value(part)[0]))
            asking->pids[asking->count++] = (int)json_integer_value(pid);
    }
    asking->left = asking->count;
    if (wait_ms == 0 || asking->left == 0)
        return wait_ms != 0;
    if (put_question(asking, error) < 0)
        result = asking->session->conn == NULL ? -1 : 0;
    else if (hear(asking, wait_ms, error) < 0)
        result = -1;
    asking->session->notifications.on_arrival = NULL;
    return result;
}

/* An answer that makes no sense to PostgreSQL hides what the sessions say no longer than once. */
static int add(struct admin *admin, json_t *document, struct error *error)
{
    int64_t unknown = json_integer_value(json_object_get(document, "_unknown"));

    if (document_run(admin, document, document, statement_relays, "", error) < 0)
        return -1;
    if (json_integer_value(json_object_get(document, "_unknown")) == unknown ||
        json_array_size(json_object_get(document, "_answers")) == 0)
        return 0;
    (void)json_array_clear(json_object_get(document, "_answers"));
    return document_run(admin, document, document, statement_relays, "", error);
}

int relays_read(struct admin *admin, json_t *document, int wait_ms, struct error *error)
{
    PGresult *result = admin_query(admin, statement_relay_sessions, 0, NULL, error);
    struct asking asking = {.session = &admin->session, .answers = json_array()};
    json_t *sessions;
    int asked;

    if (result == NULL) {
        json_decref(asking.answers);
        return -1;
    }
    sessions = json_loads(PQgetvalue(result, 0, 0), 0, NULL);
    PQclear(result);
    asked = ask(&asking, sessions, wait_ms, error);
    (void)json_object_set_new(document, "_sessions", sessions);
    (void)json_object_set_new(document, "_answers", asking.answers);
    (void)json_object_set_new(document, "_asked", json_boolean(asked > 0));
    if (asked < 0 || add(admin, document, error) < 0)
        return -1;
    (void)json_object_del(document, "_sessions");
    (void)json_object_del(document, "_answers");
    return 0;
}
