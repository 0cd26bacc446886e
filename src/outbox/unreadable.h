#ifndef OUTBOX_UNREADABLE_H
#define OUTBOX_UNREADABLE_H

#include "outbox/state.h"

/*
 * Rows that PostgreSQL cannot read: bytes that do not convert to UTF-8, a cast or a generated
 * column that raises an error, a text that is too large or takes longer than statement_timeout.
 * Such a row would make every claim that includes it fail.
 */

/*
 * To be called after a claim of a single row failed. Locks the first due row without reading its
 * values, then tries to read them. If that fails, the batch contains this row alone, rejected with
 * the server's message. Settling parks it as dead: the server copies it without converting its
 * values. Otherwise the batch is empty. Returns 0, or -1 with *error set.
 */
int unreadable_claim(struct outbox *outbox, struct batch *batch,
                     const struct claim_request *request, struct error *error);

#endif
