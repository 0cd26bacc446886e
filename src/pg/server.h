#ifndef PG_SERVER_H
#define PG_SERVER_H

#include "pg/session.h"

/*
 * What a lane remembers of the server from connection to connection: which one it is, and whether
 * a COMMIT is without an answer.
 */

struct server {
    char system[24];  /* pg_control_system().system_identifier; "": not connected yet */
    int64_t timeline; /* of the WAL (manual, 26.3.5) */
    int64_t doubtful; /* the transaction whose COMMIT is not answered; 0: none */
};

/* 0; -1: another cluster than before, or an older timeline of it, as when a primary that was
 * replaced comes back: what it calls unsent may have been sent long ago. */
int server_recognise(struct server *server, struct session *session, struct error *error);

/* SQL: whether the session's role is a superuser, or may become one by SET ROLE. */
#define SERVER_SUPERUSER_SQL                                                                       \
    "EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolsuper"                                   \
    " AND pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER'))"

/* 0; -1: it is, and is not allowed to be. Triggers of the outbox run as that role. */
int server_check_role(struct session *session, bool allow_superuser, struct error *error);
/* The error that says so; -1. */
int server_refuse_superuser(const struct session *session, struct error *error);

/* Whether they are the same server, on the same timeline. */
bool server_is_same(const struct server *a, const struct server *b);

/* Ends the backend of the connection before this one, should it live on: given up by its client it
 * still holds row locks, or waits for ever for a synchronous standby. */
int server_end_previous(struct session *session, struct error *error);

void server_doubt_commit(struct server *server, int64_t xact);
/* Logs what became of the doubtful commit, and forgets it. */
void server_tell_commit(struct server *server, struct session *session);

#endif
