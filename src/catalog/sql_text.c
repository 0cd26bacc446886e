/*
 * Pieces of SQL that are compared or printed: the slice of a row, the prefix of a type.
 */
#include "catalog/sql_text.h"

#include <stdio.h>
#include <string.h>

static const char *name_of(const struct table *table, enum column column, bool parked)
{
    return parked ? column_name(column) : column_sql(&table->columns[column]);
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
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    for (int i = 0; i < count; i++) {
        (void)fprintf(writer.out, "%s\"", i == 0 ? "{" : ",");
        for (const char *at = words[i]; *at != '\0'; at++)
            (void)fprintf(writer.out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
        (void)fputc('"', writer.out);
    }
    (void)fprintf(writer.out, "}");
    return writer_end(&writer);
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

/* The next name, with or without quotes, or the next other character. */
static struct part next_part(const char **at)
{
    const char *text = skip_noise(*at);
    const char *end = *text == '"' ? strchr(text + 1, '"') : NULL;
    struct part part = {.text = text, .len = *text != '\0', .is_name = is_word_byte(*text)};

    while (end != NULL && end[1] == '"')
        end = strchr(end + 2, '"');
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
