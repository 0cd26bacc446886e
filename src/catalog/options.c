#include "catalog/options.h"

#include "base/text.h"
#include "pg/connect.h"

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
                                    .time_zone = options->time_zone,
                                    .idle_ms = options->publish_timeout_ms + OUTBOX_SLACK_MS};
}

/* Names are quoted wherever they are used, so PostgreSQL takes any. Refused is what is rather a
 * mistake, or could not be shown on one line. */
static const char *name_problem(const char *name, size_t len)
{
    if (len == 0)
        return "has an empty name; write \"table\" or \"schema.table\"";
    if (len > IDENTIFIER_BYTES_MAX)
        return "has a name of more than 63 bytes, which PostgreSQL would cut";
    if (!text_is_utf8(name, len))
        return "has a name that is not UTF-8";
    if (name[0] == ' ' || name[len - 1] == ' ')
        return "has a name that begins or ends with a blank";
    for (size_t i = 0; i < len; i++) {
        if (name[i] == '"')
            return "contains a double quote; write the name as the catalog has it, without quotes";
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
            return "contains a control character, such as a tab or a line break";
    }
    return NULL;
}

const char *outbox_table_name_problem(const char *name)
{
    const char *dot = strchr(name, '.');
    const char *table = dot != NULL ? dot + 1 : name;
    const char *problem = dot != NULL ? name_problem(name, (size_t)(dot - name)) : NULL;

    if (problem == NULL && strchr(table, '.') != NULL)
        return "has more than one dot: a dot stands between schema and table, and in no name";
    if (problem == NULL)
        problem = name_problem(table, strlen(table));
    if (problem == NULL && strlen(table) > (size_t)TABLE_BYTES_MAX)
        problem = "is longer than 48 bytes: the names of the relay's own tables would not fit";
    return problem;
}

const char *outbox_column_name_problem(const char *name)
{
    return name[0] != '\0' ? name_problem(name, strlen(name)) : "is not the name of a column";
}
