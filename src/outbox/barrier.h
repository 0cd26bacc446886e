#ifndef OUTBOX_BARRIER_H
#define OUTBOX_BARRIER_H

#include "outbox/server.h"

/*
 * Makes sure that everything committed so far is on disk (and on the synchronous standbys), by
 * committing a WAL record on a session of its own: an application that commits with
 * synchronous_commit = off makes rows visible before they are durable. The claim's own transaction
 * cannot flush, because it has not committed.
 */
struct barrier {
    struct session session; /* opened when first needed */
};

/* A flush that takes longer leaves too little of the claim's time for the publish. */
#define BARRIER_MS_MAX 3000

/* On this server and no other. 0; -1: it could not be made sure, after BARRIER_MS_MAX at the latest
 * once connected. */
int barrier_wait(struct barrier *barrier, const struct server *server,
                 const struct outbox_options *options, const char *name, struct error *error);
void barrier_close(struct barrier *barrier);

#endif
