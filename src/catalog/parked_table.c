#include "catalog/parked_table.h"

#include "catalog/facts.h"
#include "catalog/schema.h"
#include "catalog/sql_text.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>

enum { TAKEN = COLUMN_SENT_AT }; /* the columns before it are those of the parked row, too */

PGresult *parked_lacks(const struct table *table, struct session *session, struct error *error)
{
    char written[TAKEN][sizeof table->columns->type + sizeof "pg_catalog."];
    const char *names[TAKEN], *types[TAKEN], *bases[TAKEN];
    char *owned[4];
    PGresult *result = NULL;

    for (int i = 0; i < TAKEN; i++) {
        const char *type = table_type(table, (enum column)i);

        (void)snprintf(written[i], sizeof written[i], "%s%s", sql_type_schema(type), type);
        names[i] = column_name((enum column)i);
        types[i] = written[i];
        bases[i] = table_has(table, (enum column)i)    ? table->columns[i].base
                   : i == COLUMN_ID && table->numbered ? type
                                                       : "";
    }
    owned[0] = schema_parked_text(table);
    owned[1] = sql_text_array(names, TAKEN);
    owned[2] = sql_text_array(types, TAKEN);
    owned[3] = sql_text_array(bases, TAKEN);
    if (owned[0] != NULL && owned[1] != NULL && owned[2] != NULL && owned[3] != NULL)
        result = table_query(table, session, statement_parked_lacks, 4, (const char *const *)owned,
                             error);
    else
        (void)error_no_memory(error);
    for (int i = 0; i < 4; i++)
        free(owned[i]);
    return result;
}

int parked_inspect(const struct table *table, struct session *session, struct findings *findings,
                   struct error *error)
{
    PGresult *lacks = parked_lacks(table, session, error);

    if (lacks == NULL)
        return -1;
    for (int row = 0; row < PQntuples(lacks); row++) {
        bool is_error = PQgetvalue(lacks, row, LACK_IS_ERROR)[0] == 't';
        struct finding *finding = findings_add(findings, is_error ? FINDING_ERROR : FINDING_WARNING,
                                               "%s", PQgetvalue(lacks, row, LACK_PROBLEM));

        finding_fix(finding, "%s", PQgetvalue(lacks, row, LACK_FIX));
        finding->is_schema = is_error;
    }
    PQclear(lacks);
    return 0;
}
