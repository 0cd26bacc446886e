#ifndef OUTBOX_UNREADABLE_H
#define OUTBOX_UNREADABLE_H

#include "outbox/state.h"

/*
 * Rows that PostgreSQL cannot hand over: bytes that do not convert to UTF-8, a cast or a generated
 * column that raises an error, a text that is too large or takes longer than a statement may. Such
 * a row would stop every claim that meets it.
 */

/*
 * After a claim of one row that failed so: locks the first row that is due without reading its
 * values, and then tries these. When they cannot be read the batch holds that row alone, rejected
 * with the server's message, to be settled as any other: it is parked as dead, copied by the
 * server, which needs no conversion. Otherwise the batch is empty. 0, or -1.
 */
int unreadable_claim(struct outbox *outbox, struct batch *batch,
                     const struct claim_request *request, struct error *error);

#endif
