#ifndef CATALOG_NOTIFY_H
#define CATALOG_NOTIFY_H

#include "catalog/table.h"

#include <stdint.h>

/* The trigger that `init --notify` adds to the outbox table (config/schema.sql, [notify]). */

/* With the table's oid, the advisory lock whose holder wants notifications; the trigger has it too.
 */
#define NOTIFY_LOCK 7246114

struct notify {
    char name[72];    /* of the trigger and of its function, unquoted */
    uint32_t oid;     /* the table's; 0: there is no table */
    char channel[32]; /* outbox_relay_OID */
    bool exists;      /* the table has a trigger of this name */
    bool fires;       /* and it is enabled */
};

int notify_describe(struct notify *notify, struct session *session, const struct table *table,
                    struct error *error);

#endif
