#ifndef CATALOG_FACTS_H
#define CATALOG_FACTS_H

#include "catalog/table.h"
#include "sql/sql.h"

/* The facts that statements go by about the tables and what is configured of them. A fact is a
 * name, a number, one expression, a list of columns or of assignments, or yes or no; it is never a
 * part of a statement. */

#define FACT_TEXT_OF(macro) #macro
/* The text of a macro that is a plain number; of another word nothing is compiled. */
#define FACT_NUMBER(macro) (&FACT_TEXT_OF(macro)[0 * (macro)])

/* Of what keeps PostgreSQL from removing sent rows, what has done so for less is left out. */
#define HOLDERS_LONG_S 300

struct table_facts {
    const struct table *table;
    const struct outbox_options *options; /* NULL: none are known */
};

/* The facts about `about`, which must outlive the result. */
struct sql_facts table_facts(const struct table_facts *about);

/* A statement about tables, and about nothing that is configured of them; free() it. NULL: no
 * memory. */
char *table_sql(const struct table *table, const char *statement);
/* Renders such a statement and runs it (session_query). PQclear() the result. NULL with *error set.
 */
PGresult *table_query(const struct table *table, struct session *session, const char *statement,
                      int param_count, const char *const *params, struct error *error);
/* The same with one more fact. */
PGresult *table_query_with(const struct table *table, struct session *session,
                           const char *statement, const char *name, const char *value,
                           struct error *error);

#endif
