#ifndef ADMIN_STATUS_ATTENTION_H
#define ADMIN_STATUS_ATTENTION_H

#include "admin/admin_session.h"
#include "admin/status/status.h"

/* Fills status->attention; call it last, when the rest of *status is known. 0, or -1 with *error
 * set. */
int attention_fill(struct admin *admin, struct status *status, struct error *error);

#endif
