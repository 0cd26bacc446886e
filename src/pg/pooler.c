/*
 * Another connection sends a notification to the session while the session is idle. The
 * notification passes a pooler only if the session is linked to its backend between transactions,
 * which is what session mode means. The proof also holds if the pooler is several processes, or if
 * other clients keep it busy.
 */
#include "pg/pooler.h"

#include "base/clock.h"
#include "pg/connect.h"

#include <stdio.h>

/* A session is refused for good, so a pooler gets the time that a statement may take. */
#define PROOF_MS SESSION_STATEMENT_MS

/* Without a random part: in transaction mode LISTEN stays behind in a backend, once for each
 * backend. */
#define CHANNEL "outbox_relay_pooler"

static int notify(struct session *session, const struct session_options *options, const char *mark,
                  struct error *error)
{
    struct session other = {.late = session->late};
    char sql[128];
    int status = -1;

    (void)snprintf(sql, sizeof sql, "NOTIFY " CHANNEL ", '%s'", mark);
    other.conn = connect_open(&other.late, options, "admin", session->first_host, error);
    if (other.conn != NULL && PQsetnonblocking(other.conn, 1) < 0)
        (void)session_fail(&other, NULL, error);
    else if (other.conn != NULL)
        status = session_execute(&other, sql, error);
    session_close(&other);
    session->late = other.late;
    if (status < 0 && error->hint[0] == '\0')
        (void)error_hint(error, "the connection goes through a connection pooler, in which a relay"
                                " needs a pool_size of at least its lanes + 4");
    return status;
}

static int refuse(struct error *error)
{
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "database: the connection goes through a connection pooler in transaction mode:"
                    " each transaction may reach another backend, whose settings and prepared"
                    " statements are not the relay's");
    return error_hint(error, "connect to PostgreSQL directly, or to a pool with pool_mode ="
                             " session, in database.url");
}

/* 1: the notification has arrived; 0: it has not; -1: *error is set. */
static int prove(struct session *session, const struct session_options *options,
                 struct error *error)
{
    const char *mark = session_expect_notification(session);
    int proven = -1;

    if (session_execute(session, "LISTEN " CHANNEL, error) == 0 &&
        notify(session, options, mark, error) == 0)
        proven = session_await_notification(session, clock_now_ms() + PROOF_MS, error);
    session->notifications.arrived = 0;
    session->notifications.empty = 0;
    return proven;
}

int pooler_check(struct session *session, const struct session_options *options,
                 struct error *error)
{
    int proven = prove(session, options, error);
    struct error ignored;

    if (proven == 1)
        return session_execute(session, "UNLISTEN " CHANNEL, error);
    (void)session_execute(session, "UNLISTEN " CHANNEL, &ignored);
    return proven == 0 ? refuse(error) : -1;
}
