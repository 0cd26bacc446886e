/*
 * Pieces of SQL that several statements share: the slice of a row, which rows are unsent, which
 * rows share a key.
 */
#include "catalog/sql_text.h"

#include "catalog/refused.h"

#include <stdio.h>
#include <string.h>

static const char *name_of(const struct table *table, enum column column, bool parked)
{
    return parked ? column_name(column) : table->columns[column].quoted;
}

/* The hash of a key decides which slice row a lane must lock before it claims the key's rows.
 * hashtext() has not changed since PostgreSQL 8.4, because hash indexes and hash partitions depend
 * on it. */
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

struct part {
    const char *text;
    size_t len; /* 0: the end */
    bool is_name;
};

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static const char *skip_noise(const char *text)
{
    static const char *const noise[] = {" ", "::pg_catalog.text", "::text", "::bigint",
                                        "pg_catalog."};
    size_t i = 0;

    while (i < sizeof noise / sizeof *noise) {
        size_t len = strlen(noise[i]);

        if (strncmp(text, noise[i], len) != 0) {
            i++;
            continue;
        }
        text += len;
        i = 0;
    }
    return text;
}

/* The next name, with or without quotes, or the next other character. A quoted name holds no quote
 * (outbox_column_name_problem). */
static struct part next_part(const char **at)
{
    const char *text = skip_noise(*at);
    const char *end = *text == '"' ? strchr(text + 1, '"') : NULL;
    struct part part = {.text = text, .len = *text != '\0', .is_name = is_word_byte(*text)};

    if (end != NULL) {
        *at = end + 1;
        return (struct part){text + 1, (size_t)(end - text - 1), true};
    }
    while (part.is_name && is_word_byte(text[part.len]))
        part.len++;
    *at = text + part.len;
    return part;
}

bool sql_expression_equal(const char *shown, const char *written)
{
    for (;;) {
        struct part one = next_part(&shown);
        struct part other = next_part(&written);

        if (one.len != other.len || one.is_name != other.is_name ||
            memcmp(one.text, other.text, one.len) != 0)
            return false;
        if (one.len == 0)
            return true;
    }
}

bool sql_keeps_order(const struct table *table, const struct outbox_options *options)
{
    return options->order == ORDER_KEY && table_has(table, COLUMN_KEY);
}

/* A marked row counts as sent even with on_sent = "delete". */
void sql_put_unsent(FILE *out, const struct table *table)
{
    if (table_has(table, COLUMN_SENT_AT))
        (void)fprintf(out, " AND %s IS NULL", table->columns[COLUMN_SENT_AT].quoted);
    sql_put_where(out, table);
}

/* The event id tells another row apart that was given the same id after a TRUNCATE. Whether there
 * are notes at all is looked up once, because they are rare. */
void sql_put_claimable(FILE *out, const struct table *table)
{
    sql_put_unsent(out, table);
    (void)fprintf(out,
                  " AND (NOT EXISTS (SELECT FROM %s noted WHERE noted." REFUSED_SQL
                  ") OR %s NOT IN (SELECT noted.id FROM %s noted WHERE noted." REFUSED_SQL
                  ") OR (%s, %s::text) NOT IN (SELECT noted.id, noted.event_id::text FROM %s noted"
                  " WHERE noted." REFUSED_SQL "))",
                  table->parked_quoted, table->columns[COLUMN_ID].quoted, table->parked_quoted,
                  table->columns[COLUMN_ID].quoted, table->columns[COLUMN_EVENT_ID].quoted,
                  table->parked_quoted);
}

/* The condition is safe in parentheses, because PostgreSQL has parsed it alone (filter.c). */
void sql_put_where(FILE *out, const struct table *table)
{
    if (table->where != NULL)
        (void)fprintf(out, " AND (%s)", table->where);
}

void sql_put_key_text(FILE *out, const struct table *table, const char *key)
{
    bool bytea = strcmp(table->columns[COLUMN_KEY].type, "bytea") == 0;

    (void)fprintf(out, bytea ? "pg_catalog.encode(%s, 'hex')" : "%s::text", key);
}

/* A key may be too long for an index entry, so the index contains its hash. */
void sql_put_key_is(FILE *out, const struct table *table, const char *key, const char *text)
{
    (void)fprintf(out, "%s IS NOT NULL AND pg_catalog.hashtextextended(", key);
    sql_put_key_text(out, table, key);
    (void)fprintf(out, ", 0) = pg_catalog.hashtextextended(%s, 0) AND ", text);
    sql_put_key_text(out, table, key);
    (void)fprintf(out, " = %s", text);
}

static void put_key_is_of(FILE *out, const struct table *table, const char *key, const char *row)
{
    bool bytea = strcmp(table->columns[COLUMN_KEY].type, "bytea") == 0;
    char text[96];

    (void)snprintf(text, sizeof text, bytea ? "pg_catalog.encode(%s.key, 'hex')" : "%s.key::text",
                   row);
    sql_put_key_is(out, table, key, text);
}

void sql_put_head(FILE *out, const struct table *table, const char *row)
{
    if (!table_has(table, COLUMN_KEY))
        return;
    (void)fprintf(out, " AND (%s.key IS NULL OR NOT EXISTS (SELECT FROM %s earlier WHERE ", row,
                  table->parked_quoted);
    put_key_is_of(out, table, "earlier.key", row);
    (void)fprintf(out, " AND earlier.id < %s.id AND earlier.sent_at IS NULL))", row);
}

void sql_put_probe(FILE *out, const struct table *table, const struct outbox_options *options,
                   const char *destination)
{
    (void)fprintf(out,
                  "EXISTS (SELECT FROM %s probe WHERE probe.waits_for = %s"
                  " AND probe.due < 'infinity'",
                  table->parked_quoted, destination);
    if (sql_keeps_order(table, options))
        sql_put_head(out, table, "probe");
    (void)fprintf(out, ")");
}

/* The day is added to the first of its month, because a month may have no such
 * day. */
#define TIME_PATTERN                                                                               \
    "^(19[7-9][0-9]|[2-8][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[ T]"                   \
    "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?"                                     \
    "( ?(Z|UTC|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?))?$"

void sql_put_created_at(FILE *out, const struct table *table, const char *name)
{
    if (table->columns[COLUMN_CREATED_AT].category == 'D')
        (void)fprintf(out,
                      "CASE WHEN %s >= '1970-01-02' AND %s < '9998-12-31' THEN %s::timestamptz END",
                      name, name, name);
    else
        (void)fprintf(
            out,
            "CASE WHEN pg_catalog.left(%s::text, 64) COLLATE pg_catalog.\"C\" ~ '" TIME_PATTERN
            "' THEN (pg_catalog.left(%s::text, 8) || '01' || "
            "pg_catalog.substr(pg_catalog.left(%s::text, 64), 11))::timestamptz + "
            "(pg_catalog.substr(%s::text, 9, 2)::int4 - 1) * interval '1 day' END",
            name, name, name, name);
}
