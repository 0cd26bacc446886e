#ifndef ADMIN_INSPECT_SETTLE_H
#define ADMIN_INSPECT_SETTLE_H

#include "admin/admin_session.h"

/* Warns of what the catalog shows that may keep PostgreSQL from marking, deleting or parking a row:
 * foreign keys, publications without a replica identity, triggers, rules. Returns 0, or -1 with
 * *error set. */
int inspect_settle(struct admin *admin, struct findings *findings, struct error *error);

#endif
