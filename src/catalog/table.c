#include "catalog/table.h"

#include "pg/holders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const default_types[COLUMN_COUNT] = {
    "bigint", "uuid",        "text",        "text",        "text", "jsonb",
    "jsonb",  "timestamptz", "timestamptz", "timestamptz", "xid8"};

const char *table_type(const struct table *table, enum column column)
{
    return table_has(table, column) ? table->columns[column].type : default_types[column];
}

void table_quote(const struct session *session, const char *name, char out[QUOTED_BYTES_MAX])
{
    char *quoted = session_quote_name(session, name);

    (void)snprintf(out, QUOTED_BYTES_MAX, "%s", quoted != NULL ? quoted : "\"\"");
    free(quoted);
}

bool table_has(const struct table *table, enum column column)
{
    return table->columns[column].type[0] != '\0';
}

const char *column_sql(const struct table_column *column)
{
    return column->expression != NULL ? column->expression : column->quoted;
}

bool table_is_marked_by_time(const struct table *table)
{
    return table->mark == NULL && table_has(table, COLUMN_SENT_AT);
}

/* Then nobody but the relay has a reason to write its sent_at. */
static bool has_own_mark(const struct table *table)
{
    return table->is_own && table->mark == NULL;
}

bool table_knows_sent(const struct table *table)
{
    return table_has(table, COLUMN_SENT_AT) &&
           (has_own_mark(table) || table->columns[COLUMN_SENT_AT].is_relays);
}

int table_check_sent(const struct table *table, struct error *error)
{
    const char *sent_at = table->columns[COLUMN_SENT_AT].quoted;

    if (table_knows_sent(table))
        return 0;
    if (!table_has(table, COLUMN_SENT_AT)) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "[outbox] mark does not say when a row was sent, so sent rows stay, and"
                        " cannot be audited or sent again");
        return error_hint(error, "write sent_at = \"COLUMN\" in [outbox.columns], a timestamp that"
                                 " the mark sets");
    }
    (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                    "sent rows of table %s are not purged, audited or sent again: applications may"
                    " write %s, so it is no proof that the relay has sent a row",
                    table->quoted, sent_at);
    return error_hint(error,
                      "if only the relay writes it: COMMENT ON COLUMN %s.%s IS '" ONLY_RELAY_WRITES
                      "'; else write retention = \"0\" in [outbox], and delete sent rows yourself",
                      table->quoted, sent_at);
}

bool column_is_integer(const struct table_column *column)
{
    return strcmp(column->type, "bigint") == 0 || strcmp(column->type, "integer") == 0 ||
           strcmp(column->type, "smallint") == 0;
}

bool table_has_integer_ids(const struct table *table)
{
    return column_is_integer(&table->columns[COLUMN_ID]);
}

bool table_payload_is_json(const struct table *table)
{
    const char *payload = table->columns[COLUMN_PAYLOAD].base;

    return strcmp(payload, "json") == 0 || strcmp(payload, "jsonb") == 0;
}

bool table_key_is_indexed(const struct table *table)
{
    return table_has(table, COLUMN_KEY) && table->columns[COLUMN_KEY].immutable;
}

const char *table_key(const struct table *table, enum column column)
{
    return column_name(column == COLUMN_ID && table->numbered ? COLUMN_ORDER : column);
}

/* A configured column is required; an optional column that only the preset names may be missing. */
bool table_needs(const struct outbox_options *options, enum column column)
{
    if (column == COLUMN_SENT_AT && options->mark == NULL)
        return outbox_keeps_sent(options);
    if (column == COLUMN_XID)
        return options->on_sent == ON_SENT_POSITION;
    if (column == COLUMN_ORDER)
        return false;
    return (options->columns[column] != NULL && options->columns[column][0] != '\0') ||
           column == COLUMN_ID || column == COLUMN_EVENT_ID || column == COLUMN_TOPIC ||
           column == COLUMN_PAYLOAD;
}

bool table_has_needed(const struct table *table, const struct outbox_options *options)
{
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (table_needs(options, (enum column)i) && !table_has(table, (enum column)i))
            return false;
    return true;
}

/* Rows are settled by ctid, which is unique within one table only; those of a partitioned one also
 * by their ids. */
int table_plain(const struct table *table, struct error *error)
{
    if (table->is_partitioned || (table->kind == 'r' && !table->has_children))
        return 0;
    if (table->kind == 'p') {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "%s is not a plain table: it is partitioned, and the relay knows partitions"
                        " by RANGE of the id alone, which are plain tables, and only with on_sent ="
                        " \"position\", without expressions and [outbox.headers]",
                        table->quoted);
        (void)error_hint(error, "see \"Partitions\" in docs/sizing.md");
        return error_mark_schema(error);
    }
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "%s is not a plain table: views, inherited and foreign tables are"
                    " not supported",
                    table->quoted);
    (void)error_hint(error, "write its rows into an outbox of the relay's own:"
                            " outbox-relay init --feed");
    return error_mark_schema(error);
}

int table_fits_preset(const struct table *table, const struct outbox_options *options,
                      struct error *error)
{
    if (table->preset_lacks[0] == '\0')
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "table %s lacks columns that the preset \"%s\" uses: %s", table->quoted,
                    options->preset, table->preset_lacks);
    (void)error_hint(error,
                     "choose another preset; or name what is called differently:"
                     " outbox-relay config --preset %s shows where the preset uses each",
                     options->preset);
    return error_mark_schema(error);
}

void table_name_holders(const struct table *table, struct session *session, struct error *error)
{
    const char *names[] = {table->quoted, table->parked_quoted, table->slice_quoted,
                           table->control_quoted};

    holders_name(session, names, error);
}

int table_refuse_missing(const struct table *table, struct error *error)
{
    const char *kind = table->lacks_schema ? "schema" : "table";
    const char *name = table->lacks_schema ? table->schema_quoted : table->quoted;
    const char *quotes =
        outbox_toml_quotes(table->spelt[0] != '\0' ? table->spelt : table->elsewhere);
    char schema[OUTBOX_NAME_BYTES] = "";
    char ignored[OUTBOX_NAME_BYTES];
    const char *other = table->lacks_schema ? schema : table->spelt;

    if (table->spelt[0] != '\0')
        (void)outbox_read_table(table->spelt, schema, ignored);
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "%s %s does not exist%s%s%s", kind,
                    name, other[0] != '\0' ? ", but " : "", other,
                    other[0] != '\0' ? " does: names are taken as they are written" : "");
    if (other[0] != '\0')
        (void)error_hint(error,
                         "write table = %s%s%s in [outbox]; for a second one choose a name that"
                         " differs in more than capitals and underscores",
                         quotes, table->spelt, quotes);
    else if (table->elsewhere[0] != '\0')
        (void)error_hint(error,
                         "write table = %s%s%s in [outbox], if that table is meant; if not:%s%s%s"
                         " outbox-relay init",
                         quotes, table->elsewhere, quotes,
                         table->lacks_schema ? " CREATE SCHEMA " : "",
                         table->lacks_schema ? name : "", table->lacks_schema ? "; then" : "");
    else if (table->lacks_schema)
        (void)error_hint(error, "CREATE SCHEMA %s; then: outbox-relay init", name);
    else if (strcmp(table->quoted, "\"public\".\"outbox\"") == 0)
        (void)error_hint(error, "outbox-relay init");
    else
        (void)error_hint(error, "correct the name of the table; or make it: outbox-relay init");
    return error_mark_schema(error);
}

int table_refuse_other(const char *quoted, struct error *error)
{
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "%s is not the table that outbox-relay init creates, or its owner is neither"
                    " the outbox's owner nor this role: drop or rename it",
                    quoted);
    return error_hint(error, "if it is yours: ALTER TABLE %s OWNER TO the outbox's owner", quoted);
}
