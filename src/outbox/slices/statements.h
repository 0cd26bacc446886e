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

#endif
