#ifndef CATALOG_INSPECT_H
#define CATALOG_INSPECT_H

#include "base/finding.h"
#include "catalog/facts.h"

/*
 * The findings of `check` that are queries. A section is a file catalog/sql/check_NN_NAME.sql; each
 * of its rows is a finding: the level (ok, warning, error), the text, and what mends it (NULL: the
 * advice of config/hints.tsv). The files' heads list the sections: those of "server" need no table;
 * those of "check", of "last" and of "run" need an outbox. An error of "run" keeps a relay from
 * starting.
 */

struct inspection {
    struct table_facts tables;
    struct session *session;
    bool is_readable; /* this role may read all rows of the outbox */
    bool goes_on;     /* also when PostgreSQL refuses a section */
};

/* What only sections go by; their other facts are those of the tables. */
struct sql_facts inspect_facts(const struct inspection *inspection);

/* Adds the findings of each section of this user, which runs alone. One that PostgreSQL refuses is
 * an error among them, and counted. Returns how many were refused; -1 with *error set when the
 * connection is lost. */
int inspect_sections(const struct inspection *inspection, const char *user,
                     struct findings *findings, struct error *error);
/* The reasons why `run` does not start, of which it tells the first error. 0, or -1 with *error
 * set.
 */
int inspect_reasons(const struct table *table, struct session *session,
                    const struct outbox_options *options, struct findings *findings,
                    struct error *error);
#endif
