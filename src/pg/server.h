#ifndef PG_SERVER_H
#define PG_SERVER_H

#include "pg/session.h"
#include "source/server.h"

/* Returns 0, or -1 when the server is read-only, or when this is another cluster than before, or an
 * older timeline of it, such as a replaced primary that is up again: rows that it shows as unsent
 * may have been sent long ago. The session's next connection then begins with another host. */
int server_check_identity(struct server *server, struct session *session, struct error *error);

/* Returns 0, or -1 when the role is a superuser and `allow_superuser` is not set. Triggers of the
 * outbox run as the session's role. */
int server_check_role(struct session *session, bool allow_superuser, struct error *error);

/* Terminates the backend of the session's previous connection if it is still alive: without a
 * client it may still hold row locks, or wait forever for a synchronous standby. */
int server_terminate_previous(struct session *session, struct error *error);

/* Logs whether the transaction with the unanswered COMMIT has committed, and forgets it. */
void server_log_unconfirmed_commit(struct server *server, struct session *session);

#endif
