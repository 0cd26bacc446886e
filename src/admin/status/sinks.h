#ifndef ADMIN_STATUS_SINKS_H
#define ADMIN_STATUS_SINKS_H

#include "admin/admin_session.h"
#include "admin/status/status.h"

/* How many unsent rows of the outbox go to each sink, by their topics. 0 or -1. */
int status_count_sinks(struct admin *admin, const struct status_query *query, struct status *status,
                       struct error *error);

#endif
