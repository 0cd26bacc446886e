#ifndef OUTBOX_SLICES_STATEMENTS_H
#define OUTBOX_SLICES_STATEMENTS_H

#include "catalog/sequence.h"
#include "catalog/facts.h"
#include "route/route.h"
#include "sql/statements.h"

#define AWAY_WINDOW_ROWS 50000 /* evaluating the routes of this many rows is quick */

/* The statements in sql/ that lock slices and look for the horizon, and their facts. */

struct slice_facts {
    struct table_facts tables;
    const struct routes *routes;     /* NULL: all rows go to sink 0 */
    const struct sequence *sequence; /* NULL: unknown */
};

/* The facts about `about`; `tables` is filled in and, as `about`, must outlive the result. */
struct sql_facts slice_facts(const struct slice_facts *about, struct sql_facts *tables);

/* The statement as it is sent; free() it. NULL: no memory. */
char *slice_statement(const char *statement, const struct slice_facts *about);

/* The statements that look for the horizon. */
enum horizon_statement {
    HORIZON_SHAPE,
    HORIZON_DRAWN,
    HORIZON_HOLDERS,
    HORIZON_SCAN, /* of slices, or of the whole table with order = "none" */
    HORIZON_STATEMENTS
};
const char *horizon_statement_name(enum horizon_statement statement);
const char *horizon_statement_text(enum horizon_statement statement,
                                   const struct outbox_options *options);

/* The columns of lock_slices, lock_parked_slices and lock_refused_slices. */
enum slices_column {
    SLICES_LOCKED, /* text: the locked slices in the order of their locks, such as "3,9" */
    SLICES_COUNT,  /* int4, binary: the number of slices; NULL: the slice table is empty */
    SLICES_VALID,  /* bool, binary: the bounds were valid; otherwise the claim ignores them */
    SLICES_SAME    /* bool, binary: the table is the one that was described */
};

enum holders_column { HOLDERS_FILE, HOLDERS_TRANSACTION, HOLDERS_PREPARED, HOLDERS_XID };

enum scan_column { SCAN_SLICE, SCAN_LOWEST, SCAN_READ_HIGH, SCAN_END };

enum topics_column { TOPICS_SLICE, TOPICS_ROW };

#endif
