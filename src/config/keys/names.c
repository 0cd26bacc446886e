#include "config/keys/keys.h"

#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct section_info {
    enum section parent; /* SECTION_COUNT: the top level */
    const char *name;
    const char *title;
    const char *help;
};

static const struct section_info sections[SECTION_COUNT] = {
    [SECTION_DATABASE] = {SECTION_COUNT, "database", "database", "Where the outbox table is."},
    [SECTION_OUTBOX] = {SECTION_COUNT, "outbox", "outbox",
                        "The outbox table, and what happens to its rows."},
    [SECTION_COLUMNS] = {SECTION_OUTBOX, "columns", "outbox.columns",
                         "The names of columns that differ from those of the default table, or "
                         "of the preset. A value may also be an SQL expression over the row, in "
                         "parentheses: \"(details->>'kind')\"; and \"\" for none."},
    [SECTION_ROW_HEADERS] =
        {SECTION_OUTBOX, "headers", "outbox.headers",
         "Headers beside those of the row: a column, or an expression in "
         "parentheses, of type text or bytea; NULL makes no header, and \"\" takes away "
         "one of the preset. At most 32."},
    [SECTION_RELAY] = {SECTION_COUNT, "relay", "relay", "This process."},
    [SECTION_RETRY] = {SECTION_COUNT, "retry", "retry", "What happens to a message that fails."},
    [SECTION_SINK] =
        {SECTION_COUNT, "sink", "sink.NAME",
         "A broker; any number up to 16, named with letters, digits, \"_\" and \"-\". At "
         "least one is required."},
    [SECTION_PROPERTIES] = {SECTION_SINK, "properties", "sink.NAME.properties",
                            "Properties of a Kafka sink, passed to librdkafka unchanged, such as "
                            "`\"compression.type\" = \"lz4\"`. At most 32."},
    [SECTION_HEADERS] =
        {SECTION_SINK, "headers", "sink.NAME.headers",
         "The names of the headers that the relay sets itself; \"\" sends none. A row's own "
         "headers may have every other name."},
    [SECTION_CLOUDEVENTS] = {SECTION_COUNT, "cloudevents", "cloudevents",
                             "What the events of a sink with `cloudevents` have in common."},
    [SECTION_ATTRIBUTES] =
        {SECTION_CLOUDEVENTS, "attributes", "cloudevents.attributes",
         "Further attributes, named with 1 to 20 of a-z and 0-9: a column, or an expression in "
         "parentheses, of type text or bytea; NULL makes no attribute. \"source\", \"type\" and "
         "\"subject\" come before the values that events have otherwise. They count with "
         "[outbox.headers], and a sink without `cloudevents` sends them as headers \"ce_NAME\"."},
    [SECTION_ROUTE] =
        {SECTION_COUNT, "route", "[route]",
         "Which messages go where; the first match wins. Without a route, everything goes "
         "to the only sink, to topic \"{topic}\". At most 128."},
    [SECTION_HTTP] =
        {SECTION_COUNT, "http", "http",
         "The status page, metrics and health of a running relay. Nobody has to log in."},
    [SECTION_LOG] = {SECTION_COUNT, "log", "log", "Lines on stderr."},
};

const struct key *key_find(enum section section, const char *name)
{
    for (size_t i = 0; i < key_count; i++)
        if (keys[i].section == section && strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

const struct key *key_find_anywhere(const char *name)
{
    for (size_t i = 0; i < key_count; i++)
        if (keys[i].section != SECTION_SINK && keys[i].section != SECTION_ROUTE &&
            keys[i].section != SECTION_COLUMNS && keys[i].section != SECTION_HEADERS &&
            keys[i].section != SECTION_CLOUDEVENTS && strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

enum section section_find(enum section parent, const char *name)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        if (sections[i].parent == parent && strcmp(sections[i].name, name) == 0)
            return (enum section)i;
    return SECTION_COUNT;
}

const char *section_title(enum section section)
{
    return sections[section].title;
}

const char *section_help(enum section section)
{
    return sections[section].help;
}

const struct sink_type sink_types[] = {
    {"kafka", KEY_KAFKA}, {"nats", KEY_NATS}, {"stdout", KEY_STDOUT}, {NULL, 0}};

unsigned sink_type_flag(const char *type)
{
    for (const struct sink_type *known = sink_types; known->name != NULL; known++)
        if (strcmp(type, known->name) == 0)
            return known->flag;
    return 0;
}

bool is_likely_typo(const struct text_nearest *nearest)
{
    return nearest->distance <= 2 || nearest->distance <= strlen(nearest->name) / 3;
}

/* Adds a name to the list of all that are known, in case none is near. */
static void consider(struct text_nearest *nearest, char *known, size_t size, const char *name)
{
    size_t used = strlen(known);

    text_consider(nearest, name);
    (void)snprintf(known + used, size - used, "%s\"%s\"", used > 0 ? ", " : "", name);
}

char *suggest_name(char *out, size_t size, enum section section, const char *name)
{
    struct text_nearest nearest = {.to = name, .distance = UINT_MAX};
    char known[400] = "";

    for (size_t i = 0; i < key_count; i++)
        if (keys[i].section == section)
            consider(&nearest, known, sizeof known, keys[i].name);
    for (int i = 0; i < SECTION_COUNT; i++)
        if (sections[i].parent == section)
            consider(&nearest, known, sizeof known, sections[i].name);
    if (is_likely_typo(&nearest))
        (void)snprintf(out, size, "did you mean \"%s\"?", nearest.name);
    else
        (void)snprintf(out, size, "known: %s", known);
    return out;
}

bool is_secret_property(const char *name)
{
    static const char *const endings[] = {"password", "passphrase", "secret",
                                          "sasl.oauthbearer.config", "key.pem"};
    size_t len = strlen(name);

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending_len = strlen(endings[i]);

        if (len >= ending_len && strcmp(name + len - ending_len, endings[i]) == 0)
            return true;
    }
    return false;
}
