#ifndef PG_HOLDERS_H
#define PG_HOLDERS_H

#include "pg/session.h"

/* Completes the error of a statement that waited too long for a lock (SQLSTATE 55P03): who holds
 * locks on these tables (quoted names, "" for none), and what to do. Any other error stays as it
 * is. A failed transaction of the session is rolled back; a pipeline must be empty. */
void holders_name(struct session *session, const char *const tables[3], struct error *error);

#endif
