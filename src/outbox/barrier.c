#include "outbox/barrier.h"

int barrier_wait(struct barrier *barrier, const struct outbox_options *options, const char *name,
                 struct error *error)
{
    struct outbox_options durable = *options;
    PGresult *result;

    durable.synchronous_commit = true;
    if (barrier->session.conn == NULL && session_open(&barrier->session, &durable, name, error) < 0)
        return -1;
    result = session_query(&barrier->session,
                           "SELECT pg_catalog.pg_logical_emit_message(true, 'outbox-relay', '')", 0,
                           NULL, error);
    if (result == NULL) {
        barrier_close(barrier);
        return -1;
    }
    PQclear(result);
    return 0;
}

void barrier_close(struct barrier *barrier)
{
    session_close(&barrier->session);
}
