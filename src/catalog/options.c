#include "catalog/options.h"

#include <stddef.h>
#include <string.h>

#define IDENTIFIER_BYTES_MAX 63 /* NAMEDATALEN - 1 */

/* The names of the relay's own tables and indexes begin with the outbox's name and must fit too. */
#define TABLE_BYTES_MAX (IDENTIFIER_BYTES_MAX - (int)sizeof "_parked_due_idx" + 1)

static const char *const names[COLUMN_COUNT] = {
    "id", "event_id", "topic", "key", "type", "payload", "headers", "created_at", "sent_at"};

/* debezium.io, "Outbox Event Router", basic outbox table: `id` is the event's UUID. */
static const char *const debezium[COLUMN_COUNT] = {
    "id", "id", "aggregatetype", "aggregateid", "type", "payload", NULL, NULL, "sent_at"};

const char *column_name(enum column column)
{
    return names[column];
}

const char *outbox_column(const struct outbox_options *options, enum column column)
{
    if (options->columns[column] != NULL)
        return options->columns[column];
    return options->preset == PRESET_DEBEZIUM ? debezium[column] : names[column];
}

struct session_options outbox_session_options(const struct outbox_options *options)
{
    return (struct session_options){.url = options->url,
                                    .password_file = options->password_file,
                                    .allow_plaintext = options->allow_plaintext,
                                    .synchronous_commit = options->synchronous_commit,
                                    .idle_ms = options->publish_timeout_ms + OUTBOX_SLACK_MS};
}

static bool is_name_byte(char c, bool first)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')
        return true;
    return !first && ((c >= '0' && c <= '9') || c == '$');
}

static bool is_name(const char *name, size_t len, size_t len_max)
{
    if (len == 0 || len > len_max)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_name_byte(name[i], i == 0))
            return false;
    return true;
}

const char *outbox_table_name_problem(const char *name)
{
    const char *dot = strchr(name, '.');
    const char *table = dot != NULL ? dot + 1 : name;

    if (dot != NULL && !is_name(name, (size_t)(dot - name), IDENTIFIER_BYTES_MAX))
        return "is not a valid name; use \"table\" or \"schema.table\"";
    if (!is_name(table, strlen(table), IDENTIFIER_BYTES_MAX))
        return "is not a valid name; use \"table\" or \"schema.table\"";
    if (strlen(table) > (size_t)TABLE_BYTES_MAX)
        return "is longer than 48 bytes: the names of the relay's own tables would not fit";
    return NULL;
}

const char *outbox_column_name_problem(const char *name)
{
    if (is_name(name, strlen(name), IDENTIFIER_BYTES_MAX))
        return NULL;
    return "is not a valid column name: letters, digits, \"_\" and \"$\", at most 63";
}
