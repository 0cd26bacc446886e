/* Reads a [section]: stores the value of each key in its field, as the table of keys says. */
#include "config/parts.h"

#include "base/text.h"
#include "config/keys/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SHOWN_BYTES 80

/* In TOML an unquoted key with dots is a nested table, so the message shows the quoted spelling. */
static void refuse_dotted(struct loader *loader, struct toml_node *node)
{
    char path[NAME_SHOWN_BYTES * 2];
    char shown[NAME_SHOWN_BYTES * 2];
    const struct toml_node *leaf = node;
    size_t used = 0;

    do {
        (void)snprintf(path + used, sizeof path - used, "%s%s", used > 0 ? "." : "", leaf->key);
        used = strlen(path);
        leaf = leaf->type == TOML_TABLE && leaf->count > 0 ? &leaf->children[0] : NULL;
    } while (leaf != NULL);
    text_escape(shown, sizeof shown, path, used);
    report_refusal(loader->report, node, "%s: write the whole name in quotes: \"%s\" = \"...\"",
                   shown, shown);
}

/* NULL when a problem has been reported. */
static char *property_text(struct loader *loader, struct toml_node *node)
{
    char shown[NAME_SHOWN_BYTES];
    char found[SHOWN_BYTES + 32];
    char number[32];

    if (node->type == TOML_STRING)
        return value_expand(node->key, node, loader->report);
    if (node->type == TOML_BOOLEAN)
        return strdup(node->boolean ? "true" : "false");
    if (node->type == TOML_INTEGER) {
        (void)snprintf(number, sizeof number, "%" PRId64, node->integer);
        return strdup(number);
    }
    report_refusal(loader->report, node, "%s: expected a string, an integer or a boolean, got %s",
                   text_escape(shown, sizeof shown, node->key, strlen(node->key)),
                   value_describe(found, sizeof found, node, true));
    return NULL;
}

static void load_property(struct loader *loader, struct toml_node *node, struct sink_options *sink)
{
    struct property property = {.line = node->line};

    if (node->type == TOML_TABLE) {
        refuse_dotted(loader, node);
        return;
    }
    if (sink->property_count == SINK_LIST_MAX) {
        report_refusal(loader->report, node, "more than %d properties", SINK_LIST_MAX);
        return;
    }
    property.value = property_text(loader, node);
    if (property.value == NULL)
        return;
    property.name = strdup(node->key);
    if (property.name == NULL) {
        report_refusal(loader->report, node, "out of memory");
        free(property.value);
        return;
    }
    sink->properties[sink->property_count++] = property;
}

/* Into the option's own name. NULL: no memory. */
static char *copy_name(const char *name, bool is_attribute)
{
    size_t bytes = strlen(name) + ATTRIBUTE_PREFIX_BYTES + 1;
    char *copy = malloc(bytes);

    if (copy != NULL)
        (void)snprintf(copy, bytes, "%s%s", is_attribute ? ATTRIBUTE_PREFIX : "", name);
    return copy;
}

static void load_header(struct loader *loader, struct toml_node *node, bool is_attribute)
{
    struct outbox_options *outbox = &loader->config->relay.outbox;
    struct outbox_header header = {.is_attribute = is_attribute};
    char shown[NAME_SHOWN_BYTES];
    char found[SHOWN_BYTES + 32];

    if (node->type == TOML_TABLE)
        refuse_dotted(loader, node);
    else if (outbox->header_count == OUTBOX_HEADERS_MAX)
        report_refusal(loader->report, node, "more than %d headers and attributes",
                       OUTBOX_HEADERS_MAX);
    else if (node->type != TOML_STRING)
        report_refusal(loader->report, node, "%s: expected a string, got %s",
                       text_escape(shown, sizeof shown, node->key, strlen(node->key)),
                       value_describe(found, sizeof found, node, true));
    else if (node->string[0] != '\0' &&
             (header.value = value_expand(node->key, node, loader->report)) != NULL &&
             (header.name = copy_name(node->key, is_attribute)) != NULL)
        outbox->headers[outbox->header_count++] = header;
    else
        free(header.value);
}

static void refuse_key(const struct loader *loader, enum section section, struct toml_node *node,
                       const void *base)
{
    const struct key *elsewhere = key_find_anywhere(node->key);
    const struct sink_options *sink = section == SECTION_SINK ? base : NULL;
    char name[NAME_SHOWN_BYTES];
    char title[NAME_SHOWN_BYTES + 16] = "sink.";
    char advice[448];

    text_escape(name, sizeof name, node->key, strlen(node->key));
    if (sink != NULL)
        text_escape(title + strlen(title), NAME_SHOWN_BYTES, sink->name, strlen(sink->name));
    else
        (void)snprintf(title, sizeof title, "%s", section_title(section));
    if (elsewhere != NULL)
        (void)snprintf(advice, sizeof advice, "it belongs in [%s]",
                       section_title(elsewhere->section));
    else
        suggest_name(advice, sizeof advice, section, node->key);
    report_refusal(loader->report, node, "unknown key \"%s\" in [%s]; %s", name, title, advice);
}

static void load_key(struct loader *loader, enum section section, struct toml_node *node,
                     void *base)
{
    const struct key *key = key_find(section, node->key);
    enum section inner = section_find(section, node->key);

    if (key != NULL)
        value_read(key, node, base, loader->report);
    else if (inner != SECTION_COUNT)
        load_section(loader, inner, node, base);
    else
        refuse_key(loader, section, node, base);
}

void load_section(struct loader *loader, enum section section, struct toml_node *node, void *base)
{
    char found[SHOWN_BYTES + 32];

    if (node->type != TOML_TABLE) {
        report_refusal(loader->report, node, "%s: expected a section [%s], got %s", node->key,
                       section_title(section), value_describe(found, sizeof found, node, true));
        return;
    }
    for (int i = 0; i < node->count; i++) {
        if (section == SECTION_PROPERTIES)
            load_property(loader, &node->children[i], base);
        else if (section == SECTION_ROW_HEADERS || section == SECTION_ATTRIBUTES)
            load_header(loader, &node->children[i], section == SECTION_ATTRIBUTES);
        else
            load_key(loader, section, &node->children[i], base);
    }
}
