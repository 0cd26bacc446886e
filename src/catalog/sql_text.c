/*
 * Slices: the hash of a key decides which slice row a lane must lock before it claims the key's
 * rows.
 */
#include "catalog/sql_text.h"

#include <stdio.h>
#include <string.h>

static const char *name_of(const struct table *table, enum column column, bool parked)
{
    return parked ? column_name(column) : table->columns[column].quoted;
}

/* hashtext() has been the same since PostgreSQL 8.4: hash partitions and hash indexes rest on it.
 */
static void put_slice(FILE *out, const struct table *table, int slices, bool parked, bool in_full)
{
    const char *id = name_of(table, COLUMN_ID, parked);
    const char *key = name_of(table, COLUMN_KEY, parked);
    const char *text = in_full ? "pg_catalog.text" : "text";

    (void)fprintf(out, "((pg_catalog.hashtext(");
    if (!table_has(table, COLUMN_KEY))
        (void)fprintf(out, "%s::%s", id, text);
    else if (strcmp(table->columns[COLUMN_KEY].type, "bytea") == 0)
        (void)fprintf(out, "COALESCE(pg_catalog.encode(%s, 'hex'), %s::%s)", key, id, text);
    else
        (void)fprintf(out, "COALESCE(%s::%s, %s::%s)", key, text, id, text);
    if (in_full)
        (void)fprintf(out, ") OPERATOR(pg_catalog.&) 2147483647) OPERATOR(pg_catalog.%%) %d)",
                      slices);
    else
        (void)fprintf(out, ") & 2147483647) %% %d)", slices);
}

void sql_put_slice(FILE *out, const struct table *table, int slices, bool parked)
{
    put_slice(out, table, slices, parked, false);
}

void sql_put_slice_in_full(FILE *out, const struct table *table, int slices)
{
    put_slice(out, table, slices, false, true);
}

const char *sql_type_schema(const char *type)
{
    static const char *const words[] = {"bigint", "bit",        "boolean", "character", "double",
                                        "int",    "interval",   "numeric", "real",      "smallint",
                                        "time ",  "timestamp ", "time(",   "timestamp("};

    if (strchr(type, '.') != NULL)
        return "";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(type, words[i], strlen(words[i])) == 0)
            return "";
    return "pg_catalog.";
}

char *sql_text_array(const char *const *words, int count)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    for (int i = 0; i < count; i++) {
        (void)fprintf(out, "%s\"", i == 0 ? "{" : ",");
        for (const char *at = words[i]; *at != '\0'; at++)
            (void)fprintf(out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
        (void)fputc('"', out);
    }
    (void)fprintf(out, "}");
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
