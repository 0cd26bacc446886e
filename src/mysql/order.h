#ifndef MYSQL_ORDER_H
#define MYSQL_ORDER_H

#include "mysql/admin.h"

/*
 * The trigger that `init --order-trigger` adds to the outbox (sql/order.sql). It locks the bucket
 * of each row's key until the transaction ends. In MariaDB it then draws the id from a sequence.
 * MySQL has no sequences, and draws the ids of a statement at its first row: there the trigger
 * keeps the order of INSERTs of one row.
 */
struct order_trigger {
    bool is_there;     /* one that init has made, with this configuration or another one */
    bool is_hidden;    /* one of its name is there, and the role may not look at it */
    char name[300];    /* quoted: of the one that is there, or of the one that init would make */
    char problem[600]; /* why it does not keep the order; "": it does, if it is there */
};

int order_read(struct admin *admin, struct order_trigger *trigger, struct error *error);
/* What `check` says of it. 0, or -1 with *error set. */
int order_inspect(struct admin *admin, struct findings *findings, struct error *error);

/* The SQL that makes it, for `mariadb` or, if not `printed`, for order_make(). "": it is there.
 * NULL with *error set, also when no trigger can keep the order of this outbox. free() it. */
char *order_text(struct admin *admin, bool printed, struct error *error);
int order_make(struct admin *admin, const char *sql, struct error *error);

#endif
