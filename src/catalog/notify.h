#ifndef CATALOG_NOTIFY_H
#define CATALOG_NOTIFY_H

#include "catalog/table.h"

#include <stdint.h>

/* The trigger that `init --notify` adds to the outbox table (config/sql/notify.sql). */

/* The first key of the advisory lock whose exclusive holder wants notifications; the second key is
 * the table's oid. The trigger contains the same number. */
#define NOTIFY_LOCK 7246114

struct notify {
    char name[72];    /* of the trigger and of its function, unquoted */
    uint32_t oid;     /* the table's; 0: there is no table */
    char channel[32]; /* outbox_relay_OID */
    bool exists;      /* the table has a trigger of this name */
    bool fires;       /* the trigger exists and is enabled */
};

/* Returns -1 with *error set when the function of that name, or the one that the trigger calls,
 * belongs to a role that is neither the table's owner, nor the connected role, nor a superuser. */
int notify_refuse_foreign(const struct table *table, struct session *session, struct error *error);

int notify_describe(struct notify *notify, struct session *session, const struct table *table,
                    struct error *error);

#endif
