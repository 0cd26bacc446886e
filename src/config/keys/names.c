#include "config/keys/keys.h"

#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct section_info {
    enum section parent; /* SECTION_COUNT: the top level */
    const char *name;
    const char *title;
};

static const struct section_info sections[SECTION_COUNT] = {
    [SECTION_DATABASE] = {SECTION_COUNT, "database", "database"},
    [SECTION_OUTBOX] = {SECTION_COUNT, "outbox", "outbox"},
    [SECTION_COLUMNS] = {SECTION_OUTBOX, "columns", "outbox.columns"},
    [SECTION_ROW_HEADERS] = {SECTION_OUTBOX, "headers", "outbox.headers"},
    [SECTION_RELAY] = {SECTION_COUNT, "relay", "relay"},
    [SECTION_RETRY] = {SECTION_COUNT, "retry", "retry"},
    [SECTION_SINK] = {SECTION_COUNT, "sink", "sink.NAME"},
    [SECTION_PROPERTIES] = {SECTION_SINK, "properties", "sink.NAME.properties"},
    [SECTION_HEADERS] = {SECTION_SINK, "headers", "sink.NAME.headers"},
    [SECTION_CLOUDEVENTS] = {SECTION_COUNT, "cloudevents", "cloudevents"},
    [SECTION_ATTRIBUTES] = {SECTION_CLOUDEVENTS, "attributes", "cloudevents.attributes"},
    [SECTION_ROUTE] = {SECTION_COUNT, "route", "[route]"},
    [SECTION_HTTP] = {SECTION_COUNT, "http", "http"},
    [SECTION_LOG] = {SECTION_COUNT, "log", "log"},
    [SECTION_TRACE] = {SECTION_COUNT, "trace", "trace"},
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
            keys[i].section != SECTION_CLOUDEVENTS && keys[i].section != SECTION_TRACE &&
            strcmp(keys[i].name, name) == 0)
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
