#ifndef PG_HOLDERS_H
#define PG_HOLDERS_H

#include "pg/session.h"

/* Completes the error of a statement that waited too long for a lock (SQLSTATE 55P03): who holds
 * locks on these tables (quoted names, "" for none), and what to do. Any other error stays as it
 * is. A failed transaction of the session is rolled back. */
#define HOLDERS_TABLES 4
void holders_name(struct session *session, const char *const tables[HOLDERS_TABLES],
                  struct error *error);

/* Whether somebody who is no relay has locked rows of the table (a quoted name): returns 1 with
 * *holder set, which names him; 0; or -1 with *error set. */
int holders_of_rows(struct session *session, const char *table, struct error *holder,
                    struct error *error);

/* Takes an advisory lock of the transaction that is open. Returns 0, or -1 with *error set; after
 * lock_timeout it names the session that holds the lock, and the transaction is rolled back. */
int holders_lock_advisory(struct session *session, const char *class, const char *object,
                          struct error *error);

#endif
