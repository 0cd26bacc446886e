/* Keys that a running relay can change are numbers, or strings of which their users have copies. */
#include "config/config.h"

#include "config/keys/value.h"
#include "config/parts.h"

#include <stdio.h>
#include <string.h>

#define MASK "***"

/* The callback and its argument. */
struct comparison {
    void (*on_change)(const struct config_change *change, void *closure);
    void *closure;
};

static bool lists_differ(const struct text_list *a, const struct text_list *b)
{
    if (a->count != b->count)
        return true;
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return true;
    return false;
}

static bool differs(const struct key *key, const void *before, const void *after)
{
    const char *was = key->type == KEY_STRING ? value_string(key, before) : NULL;
    const char *is = key->type == KEY_STRING ? value_string(key, after) : NULL;

    if (key->type == KEY_STRING)
        return was == NULL || is == NULL ? was != is : strcmp(was, is) != 0;
    if (key->type == KEY_LIST)
        return lists_differ(value_list(key, before), value_list(key, after));
    return value_number(key, before) != value_number(key, after);
}

static void show(char *out, size_t size, const struct key *key, const void *base)
{
    const char *string = key->type == KEY_STRING ? value_string(key, base) : NULL;
    const struct text_list *list = key->type == KEY_LIST ? value_list(key, base) : NULL;

    if ((key->flags & KEY_SECRET) != 0)
        (void)snprintf(out, size, MASK);
    else if (key->type == KEY_STRING || (list != NULL && list->count == 0))
        (void)snprintf(out, size, "%s", string != NULL ? string : "not given");
    else if (list == NULL)
        (void)value_format(out, size, key, value_number(key, base));
    else
        for (int i = 0, len = 0; i < list->count && len < (int)size; i++)
            len +=
                snprintf(out + len, size - (size_t)len, "%s%s", i > 0 ? ", " : "", list->items[i]);
}

/* Of one section; `name` stands before the key. */
static void compare_keys(const struct comparison *comparison, enum section section,
                         const char *name, void *current, void *next)
{
    for (size_t i = 0; i < key_count; i++) {
        const struct key *key = &keys[i];
        struct config_change change = {.applied = (key->flags & KEY_RELOAD) != 0};

        if (key->section != section || !differs(key, current, next))
            continue;
        (void)snprintf(change.key, sizeof change.key, "[%s] %s", name, key->name);
        show(change.before, sizeof change.before, key, current);
        show(change.after, sizeof change.after, key, next);
        if (change.applied && key->type == KEY_STRING)
            value_swap_string(key, current, next);
        else if (change.applied)
            value_set_number(key, current, value_number(key, next));
        comparison->on_change(&change, comparison->closure);
    }
}

static void tell(const struct comparison *comparison, const char *part, const char *before,
                 const char *after)
{
    struct config_change change = {.applied = false};

    (void)snprintf(change.key, sizeof change.key, "%s", part);
    (void)snprintf(change.before, sizeof change.before, "%s", before);
    (void)snprintf(change.after, sizeof change.after, "%s", after);
    comparison->on_change(&change, comparison->closure);
}

static bool properties_differ(const struct sink_options *a, const struct sink_options *b)
{
    if (a->property_count != b->property_count)
        return true;
    for (int i = 0; i < a->property_count; i++)
        if (strcmp(a->properties[i].name, b->properties[i].name) != 0 ||
            strcmp(a->properties[i].value, b->properties[i].value) != 0)
            return true;
    return false;
}

static bool headers_differ(const struct outbox_options *a, const struct outbox_options *b)
{
    if (a->header_count != b->header_count)
        return true;
    for (int i = 0; i < a->header_count; i++)
        if (strcmp(a->headers[i].name, b->headers[i].name) != 0 ||
            strcmp(a->headers[i].value, b->headers[i].value) != 0)
            return true;
    return false;
}

static struct sink_options *find_sink(struct relay_options *relay, const char *name)
{
    for (int i = 0; i < relay->sink_count; i++)
        if (strcmp(relay->sinks[i].name, name) == 0)
            return &relay->sinks[i];
    return NULL;
}

static void compare_sinks(const struct comparison *comparison, struct relay_options *current,
                          struct relay_options *next)
{
    char name[96];

    for (int i = 0; i < current->sink_count; i++) {
        struct sink_options *sink = &current->sinks[i];
        struct sink_options *after = find_sink(next, sink->name);

        (void)snprintf(name, sizeof name, "sink.%s", sink->name);
        if (after == NULL) {
            tell(comparison, name, "a sink", "not given");
            continue;
        }
        compare_keys(comparison, SECTION_SINK, name, sink, after);
        (void)snprintf(name, sizeof name, "sink.%s.headers", sink->name);
        compare_keys(comparison, SECTION_HEADERS, name, sink, after);
        if (properties_differ(sink, after)) {
            (void)snprintf(name, sizeof name, "[sink.%s.properties]", sink->name);
            tell(comparison, name, "the old ones", "others");
        }
    }
    for (int i = 0; i < next->sink_count; i++)
        if (find_sink(current, next->sinks[i].name) == NULL) {
            (void)snprintf(name, sizeof name, "sink.%s", next->sinks[i].name);
            tell(comparison, name, "not given", "a sink");
        }
}

static bool routes_differ(const struct relay_options *a, const struct relay_options *b)
{
    if (a->routes.count != b->routes.count)
        return true;
    for (int i = 0; i < a->routes.count; i++) {
        const struct route *before = &a->routes.entries[i];
        const struct route *after = &b->routes.entries[i];

        if (strcmp(before->match.source, after->match.source) != 0 ||
            strcmp(before->topic.source, after->topic.source) != 0 ||
            strcmp(before->key.source, after->key.source) != 0 ||
            strcmp(a->sinks[before->sink].name, b->sinks[after->sink].name) != 0)
            return true;
    }
    return false;
}

void config_reload(struct config *current, struct config *next,
                   void (*on_change)(const struct config_change *change, void *closure),
                   void *closure)
{
    static const enum section sections[] = {SECTION_DATABASE, SECTION_OUTBOX, SECTION_COLUMNS,
                                            SECTION_RELAY,    SECTION_RETRY,  SECTION_CLOUDEVENTS,
                                            SECTION_HTTP,     SECTION_LOG,    SECTION_TRACE};
    const struct comparison comparison = {on_change, closure};

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        compare_keys(&comparison, sections[i], section_title(sections[i]), current, next);
    if (headers_differ(&current->relay.outbox, &next->relay.outbox))
        tell(&comparison, "[outbox.headers], [cloudevents.attributes]", "the old ones", "others");
    compare_sinks(&comparison, &current->relay, &next->relay);
    if (routes_differ(&current->relay, &next->relay))
        tell(&comparison, "[[route]]", "the old ones", "others");
    config_derive_fields(&current->relay);
}
