#ifndef ADMIN_ATTENTION_H
#define ADMIN_ATTENTION_H

#include "admin/admin_session.h"
#include "admin/status.h"

/* Adds to status->attention, when all else of it is known. 0, or -1 when a look-up failed. */
int attention_fill(struct admin *admin, struct status *status, struct error *error);

#endif
