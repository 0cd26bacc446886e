#ifndef CATALOG_SHAPE_H
#define CATALOG_SHAPE_H

#include "catalog/table.h"
#include "pg/session.h"

/*
 * The shape of the tables: a text that differs after every change of the outbox or of the relay's
 * own tables that a description depends on (columns, defaults, indexes, triggers, rules, owner,
 * rights, another table of the name). VACUUM and ANALYZE do not change it. A session that has
 * locked the outbox in this transaction sees a shape that stays until the transaction ends.
 */

/* Reads it into table->shape. To be called before the table is described: a change during the
 * description is then noticed at the next comparison. Returns 0, or -1 with *error set. */
int shape_read(struct table *table, struct session *session, struct error *error);

#endif
