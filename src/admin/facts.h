#ifndef ADMIN_FACTS_H
#define ADMIN_FACTS_H

#include "catalog/facts.h"

#include <stdint.h>

/* The facts of the statements in admin/sql/ and admin/status/sql/. */

struct admin_facts {
    struct table_facts tables;
    int64_t unsent_from;   /* no unsent row has a lower id; INT64_MIN: not known */
    const char *partition; /* quoted; NULL: the statement is about the whole outbox */
};

#define PURGE_ROWS 1000       /* of one statement */
#define PARTITION_DROP_MS 100 /* for which an INSERT may wait for the lock of a DROP */
#define PARTITION_ATTACH_MS 1000
#define UNSENT_COUNT_MAX 10000000 /* a few seconds */
#define REPLAY_LOOKED_ROWS 20000
#define AUDIT_PAGE_ROWS 2000   /* that `audit` looks at in a transaction */
#define AUDIT_KNOWN_ROWS 20000 /* whose event ids `audit` reads at once */

/* The facts about `about`, which must outlive the result, as `more` must, which is filled: with
 * those of the tables, and of the order trigger. */
struct sql_facts admin_facts(const struct admin_facts *about, struct sql_facts more[2]);

#endif
