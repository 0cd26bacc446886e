#ifndef CATALOG_ORDER_TRIGGER_H
#define CATALOG_ORDER_TRIGGER_H

#include "catalog/facts.h"

/*
 * The trigger that `init --order-trigger` adds to the outbox (ordering.sql in
 * config/sql/shared). Before each row it locks the row's key until the transaction ends, and then
 * draws the id: the relay's contract with the application, kept for it. Two keys share a lock if
 * they have the same bucket.
 */

struct order_trigger {
    bool is_whole; /* nothing is missing that the SQL of init adds */
    bool holds;    /* it locks the key of each row, so that the application need not */
};

/* The facts that order_keeper.sql goes by, beside those of the tables. */
struct sql_facts order_trigger_facts(const struct table_facts *tables);

/* 0, or -1 with *error set, also when no such trigger can keep the order of this table, which must
 * exist. */
int order_trigger_describe(struct order_trigger *trigger, struct session *session,
                           const struct table *table, const struct outbox_options *options,
                           struct error *error);

#endif
