#ifndef ADMIN_AUDIT_H
#define ADMIN_AUDIT_H

#include "outbox/sql.h"

/* How `audit` reads the values of rows of the outbox, or of the parked table. */
struct statement audit_statement(const struct outbox_options *options, bool parked);

#endif
