/*
 * The state of a lane's access to the outbox, which is created without connecting.
 */
#include "outbox/state.h"

#include "base/clock.h"
#include "catalog/memory.h"
#include "outbox/slices/source_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ISOLATE_MS 60000 /* how long claims stay small to isolate a row */

void outbox_claim_fewer(struct outbox *outbox, bool refused)
{
    int *level = refused ? &outbox->refused_level : &outbox->level;

    if (*level < CLAIM_LEVELS - 1)
        ++*level;
    outbox->isolate_until_ms = clock_now_ms() + ISOLATE_MS;
    outbox->isolate_claims = 0;
}

struct outbox *outbox_open(const struct outbox_options *options, const struct routes *routes,
                           const char *name)
{
    struct outbox *outbox = calloc(1, sizeof *outbox);

    if (outbox == NULL)
        return NULL;
    outbox->options = options;
    outbox->routes = routes;
    outbox->slices = slice_lock_open(&(struct slice_lock_owner){
        options, &outbox->table, &outbox->server, &outbox->session, outbox->era});
    (void)snprintf(outbox->name, sizeof outbox->name, "%s", name);
    if (outbox->slices != NULL)
        return outbox;
    outbox_close(outbox);
    return NULL;
}

int outbox_share(struct outbox *outbox, struct source *source)
{
    outbox->flush = source->flush;
    return slice_lock_share(outbox->slices, source->horizon);
}

/* Rolls back rather than commits, because a COMMIT would write the row locks to disk and could wait
 * for a standby that is down. */
void outbox_abandon(struct outbox *outbox)
{
    struct error ignored;

    if (outbox->session.in_flight)
        session_close(&outbox->session);
    if (outbox->session.conn != NULL && outbox->session.in_transaction)
        (void)session_end_transaction(&outbox->session, false, &ignored);
}

void outbox_reopen(struct outbox *outbox, const struct outbox_options *options,
                   const struct routes *routes)
{
    outbox_abandon(outbox);
    session_close(&outbox->session);
    outbox->options = options;
    outbox->routes = routes;
    slice_lock_reopen(outbox->slices, options);
}

void outbox_close(struct outbox *outbox)
{
    if (outbox == NULL)
        return;
    outbox_abandon(outbox);
    session_close(&outbox->session);
    session_end(&outbox->session);
    slice_lock_close(outbox->slices);
    free(outbox->pauses);
    free(outbox);
}

int outbox_keep_pauses(struct outbox *outbox, const PGresult *result, int column,
                       struct error *error)
{
    free(outbox->pauses);
    outbox->pauses = NULL;
    if (PQgetisnull(result, 0, column))
        return 0;
    outbox->pauses = strdup(PQgetvalue(result, 0, column));
    return outbox->pauses != NULL ? 0 : error_no_memory(error);
}

const char *outbox_pauses(const struct outbox *outbox)
{
    return outbox->pauses;
}

int outbox_read_pauses(struct outbox *outbox, struct error *error)
{
    PGresult *result = session_run(&outbox->session, "pauses", 0, NULL, error);
    int status = result != NULL ? outbox_keep_pauses(outbox, result, 0, error) : -1;

    PQclear(result);
    return status;
}

int outbox_read_acknowledged(struct outbox *outbox, const struct memory_reader *reader,
                             struct error *error)
{
    return memory_read(&outbox->table, &outbox->session, reader, error);
}

uint64_t outbox_connections(const struct outbox *outbox)
{
    return outbox->connections;
}

bool outbox_claims_ahead(const struct outbox *outbox)
{
    return outbox->session.in_flight;
}

/* A process that was suspended while it waited for a COMMIT finds a result of the next claim in the
 * socket that looks fresh, but after it the end of the session. */
bool outbox_claim_is_lost(const struct outbox *outbox)
{
    return session_is_cut_off(&outbox->session);
}
