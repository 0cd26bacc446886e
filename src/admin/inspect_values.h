#ifndef ADMIN_INSPECT_VALUES_H
#define ADMIN_INSPECT_VALUES_H

#include "admin/admin_session.h"
#include "base/finding.h"

/* What check finds in the values of an outbox, and not in its shape. Return 0, or -1 with *error
 * set. */

/* Rows without an id, which no claim finds. */
int inspect_rows_without_id(struct admin *admin, struct findings *findings, struct error *error);

/* These, ids that come to an end, and times that are read in another zone than they were written
 * in. */
int inspect_values(struct admin *admin, struct findings *findings, struct error *error);

#endif
