#ifndef ADMIN_INSPECT_SLICES_H
#define ADMIN_INSPECT_SLICES_H

#include "admin/admin_session.h"

/* check, what order = "key" rests on: the slice table, the index, the ids. 0, or -1 when a look-up
 * failed. Adds nothing with order = "none". */
int inspect_slices(struct admin *admin, struct findings *findings, struct error *error);

#endif
