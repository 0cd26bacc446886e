#ifndef ADMIN_INSPECT_CLUSTER_H
#define ADMIN_INSPECT_CLUSTER_H

#include "admin/admin_session.h"

/* What threatens the outbox from outside it: settings of the server, and transactions of others.
 * Both return 0, or -1 when a look-up failed. */

/* Transactions, also prepared ones, that are open for so long, and slots, that keep PostgreSQL from
 * removing sent rows, the longest first; for `status` too. */
#define HOLDERS_LONG_S 300
int inspect_holders(struct admin *admin, int long_s, struct findings *findings,
                    struct error *error);

/* Settings that lose what is committed, or let sent rows pile up. */
int inspect_cluster(struct admin *admin, struct findings *findings, struct error *error);

#endif
