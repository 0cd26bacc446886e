#include "catalog/pauses.h"

void sql_put_pauses(FILE *out, const struct table *table)
{
    (void)fprintf(
        out,
        "SELECT pg_catalog.string_agg(waits_for, E'\\n' ORDER BY seq) FROM %s WHERE " PAUSE_ROW_SQL,
        table->parked_quoted);
}
