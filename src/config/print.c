#include "config/config.h"

#include "config/check/check.h"
#include "config/keys/value.h"
#include "source/conninfo.h"
#include "source/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MASK "***"

/* Prints a basic string (TOML 1.0, "String"). A literal "${" is written "$${", as config_load
 * expects it. */
static void print_quoted(FILE *out, const char *string)
{
    (void)fputc('"', out);
    for (const char *at = string; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;

        if (byte == '"' || byte == '\\')
            (void)fprintf(out, "\\%c", byte);
        else if (byte == '\n')
            (void)fputs("\\n", out);
        else if (byte < 0x20 || byte == 0x7F)
            (void)fprintf(out, "\\u%04X", byte);
        else if (byte == '$' && at[1] == '{')
            (void)fputs("$$", out);
        else
            (void)fputc(byte, out);
    }
    (void)fputc('"', out);
}

static void print_list(FILE *out, const struct text_list *list)
{
    (void)fputc('[', out);
    for (int i = 0; i < list->count; i++) {
        (void)fputs(i > 0 ? ", " : "", out);
        print_quoted(out, list->items[i]);
    }
    (void)fputc(']', out);
}

/* A key that is not given is left out. */
static void print_key(FILE *out, const struct key *key, const void *base)
{
    const char *string = key->type == KEY_STRING ? value_string(key, base) : NULL;
    bool is_url = key->section == SECTION_DATABASE && (key->flags & KEY_SECRET) != 0;
    const char *quote = value_is_quoted(key) ? "\"" : "";
    char *shown = NULL;
    char text[64];

    if ((key->type == KEY_STRING && string == NULL) ||
        (key->type == KEY_LIST && value_list(key, base)->count == 0))
        return;
    (void)fprintf(out, "%s = ", key->name);
    if (key->type == KEY_STRING) {
        shown = is_url ? conninfo_hide_secrets(string) : NULL;
        print_quoted(out, shown != NULL ? shown : (key->flags & KEY_SECRET) != 0 ? MASK : string);
        free(shown);
    } else if (key->type == KEY_LIST) {
        print_list(out, value_list(key, base));
    } else {
        (void)fprintf(out, "%s%s%s", quote,
                      value_format(text, sizeof text, key, value_number(key, base)), quote);
    }
    (void)fputc('\n', out);
}

static void print_keys(FILE *out, enum section section, const void *base)
{
    for (size_t i = 0; i < key_count; i++)
        if (keys[i].section == section)
            print_key(out, &keys[i], base);
}

static void print_section(FILE *out, enum section section, const struct config *config)
{
    (void)fprintf(out, "[%s]\n", section_title(section));
    print_keys(out, section, config);
    (void)fputc('\n', out);
}

/* The names of the default table stand there as comments: as a key, one would make its column one
 * that the table must have. */
static void print_columns(FILE *out, const struct config *config)
{
    const struct outbox_options *options = &config->relay.outbox;

    (void)fprintf(out, "[%s]\n", section_title(SECTION_COLUMNS));
    print_keys(out, SECTION_COLUMNS, config);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        const char *name = outbox_column(options, (enum column)i);

        if (options->columns[i] != NULL || i >= COLUMN_DUE ||
            (i == COLUMN_ID && outbox_is_numbered(options)))
            continue;
        (void)fprintf(out, "# %s = ", column_name((enum column)i));
        if (name != NULL)
            print_quoted(out, name);
        (void)fprintf(out, "%s\n", name != NULL ? " (by default)" : "(none)");
    }
    (void)fputc('\n', out);
}

/* [outbox.headers] or [cloudevents.attributes]; left out when there are none. */
static void print_row_headers(FILE *out, const struct outbox_options *options, bool attributes)
{
    bool any = false;

    for (int i = 0; i < options->header_count; i++) {
        const struct outbox_header *header = &options->headers[i];

        if (header->is_attribute != attributes)
            continue;
        if (!any)
            (void)fprintf(out, "[%s]\n", outbox_header_section(header));
        any = true;
        print_quoted(out, outbox_header_name(header));
        (void)fputs(" = ", out);
        print_quoted(out, header->value);
        (void)fputc('\n', out);
    }
    if (any)
        (void)fputc('\n', out);
}

/* The section is left out when none is given. */
static void print_headers(FILE *out, const struct sink_options *sink, unsigned type)
{
    bool any = false;

    for (size_t i = 0; i < key_count; i++) {
        if (keys[i].section != SECTION_HEADERS || (keys[i].flags & type) == 0 ||
            value_string(&keys[i], sink) == NULL)
            continue;
        if (!any)
            (void)fprintf(out, "[sink.%s.headers]\n", sink->name);
        any = true;
        print_key(out, &keys[i], sink);
    }
    if (any)
        (void)fputc('\n', out);
}

static void print_sink(FILE *out, const struct sink_options *sink)
{
    unsigned type = sink->type != NULL ? sink_type_flag(sink->type) : (unsigned)KEY_ANY_SINK;

    (void)fprintf(out, "[sink.%s]\n", sink->name);
    for (size_t i = 0; i < key_count; i++)
        if (keys[i].section == SECTION_SINK && (keys[i].flags & type) != 0)
            print_key(out, &keys[i], sink);
    (void)fputc('\n', out);
    print_headers(out, sink, type);
    if (sink->property_count == 0)
        return;
    (void)fprintf(out, "[sink.%s.properties]\n", sink->name);
    for (int i = 0; i < sink->property_count; i++) {
        const struct property *property = &sink->properties[i];

        print_quoted(out, property->name);
        (void)fputs(" = ", out);
        print_quoted(out, is_secret_property(property->name) ? MASK : property->value);
        (void)fputc('\n', out);
    }
    (void)fputc('\n', out);
}

static void print_route(FILE *out, const struct relay_options *relay, const struct route *route)
{
    struct route_source source = {.match = route->match.source,
                                  .sink = relay->sinks[route->sink].name,
                                  .topic = route->topic.source,
                                  .key = route->key.source};

    (void)fputs("[[route]]\n", out);
    print_keys(out, SECTION_ROUTE, &source);
    (void)fputc('\n', out);
}

void config_print(const struct config *config, FILE *out)
{
    const struct relay_options *relay = &config->relay;

    print_section(out, SECTION_DATABASE, config);
    print_section(out, SECTION_OUTBOX, config);
    print_columns(out, config);
    print_row_headers(out, &relay->outbox, false);
    print_section(out, SECTION_RELAY, config);
    print_section(out, SECTION_RETRY, config);
    for (int i = 0; i < relay->sink_count; i++)
        print_sink(out, &relay->sinks[i]);
    print_section(out, SECTION_CLOUDEVENTS, config);
    print_row_headers(out, &relay->outbox, true);
    for (int i = 0; i < relay->routes.count; i++)
        print_route(out, relay, &relay->routes.entries[i]);
    print_section(out, SECTION_HTTP, config);
    print_section(out, SECTION_LOG, config);
    print_section(out, SECTION_TRACE, config);
}

extern const char embedded_sample[]; /* config/relay.toml */

const char *config_sample(void)
{
    return embedded_sample;
}
