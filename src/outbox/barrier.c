#include "outbox/barrier.h"

#include <stdio.h>

/* "LANE/flush": `status` counts lanes by their own sessions. */
static int open_session(struct barrier *barrier, const struct server *server,
                        const struct outbox_options *options, const char *name, struct error *error)
{
    struct outbox_options durable = *options;
    char flush_name[64];

    durable.synchronous_commit = true;
    (void)snprintf(flush_name, sizeof flush_name, "%s/flush", name);
    if (session_open(&barrier->session, &durable, flush_name, error) < 0)
        return -1;
    if (server_must_be(server, &barrier->session, error) == 0 &&
        server_end_previous(&barrier->session, error) == 0) {
        barrier->session.wait_ms = BARRIER_MS_MAX;
        return 0;
    }
    barrier_close(barrier);
    return -1;
}

int barrier_wait(struct barrier *barrier, const struct server *server,
                 const struct outbox_options *options, const char *name, struct error *error)
{
    PGresult *result;

    if (barrier->session.conn == NULL && open_session(barrier, server, options, name, error) < 0)
        return -1;
    result = session_query(&barrier->session,
                           "SELECT pg_catalog.pg_logical_emit_message(true, 'outbox-relay', '')", 0,
                           NULL, error);
    if (result == NULL) {
        barrier_close(barrier);
        return error_hint(error, "this was the flush of the WAL before a publish"
                                 " (durable_before_publish); is a synchronous standby away?");
    }
    PQclear(result);
    return 0;
}

void barrier_close(struct barrier *barrier)
{
    session_close(&barrier->session);
}
