#ifndef CATALOG_ORDER_TRIGGER_H
#define CATALOG_ORDER_TRIGGER_H

#include "base/finding.h"
#include "catalog/table.h"

/*
 * The trigger that `init --order-trigger` adds to the outbox (ordering.sql in
 * config/sql/shared). Before each row it locks the row's key until the transaction ends, and then
 * draws the id: the relay's contract with the application, kept for it. Two keys share a lock if
 * they have the same bucket.
 */

struct order_trigger {
    bool exists;      /* the outbox has a trigger of this name */
    char enabled;     /* pg_trigger.tgenabled */
    bool fits;        /* it and its function are those of `init` with this configuration */
    bool owns_source; /* its sequence belongs to the id column */
    int64_t cache;    /* of the sequence that ids are drawn from */
    bool is_by_id;    /* the outbox is a partition that is chosen by the id */
    char function[2 * QUOTED_BYTES_MAX]; /* of a role that is not trusted; "": none */
    char owner[QUOTED_BYTES_MAX];        /* that role */
    char later[QUOTED_BYTES_MAX];        /* a trigger that runs after this one; "": none */
    char draws[16];                      /* "IDENTITY", "DEFAULT": the id column draws; "": not */
    char generated[QUOTED_BYTES_MAX];    /* a generated column of the key; "": none */
};

/* 0, or -1. The table must exist. */
int order_trigger_describe(struct order_trigger *trigger, struct session *session,
                           const struct table *table, const struct outbox_options *options,
                           struct error *error);

/* Whether something is missing that the SQL of init adds. */
bool order_trigger_lacks(const struct order_trigger *trigger);
/* Whether it locks the key of each row, so that the application need not. */
bool order_trigger_holds(const struct order_trigger *trigger);

/* -1 with *error set when no such trigger can keep the order of this table. */
int order_trigger_refuse(const struct order_trigger *trigger, const struct table *table,
                         const struct outbox_options *options, struct error *error);

/* Adds what holds, or a warning for each condition that is broken; the CACHE of the sequence is
 * inspected with the sequence. */
void order_trigger_inspect(const struct order_trigger *trigger, const struct table *table,
                           const struct outbox_options *options, struct findings *findings);

#endif
