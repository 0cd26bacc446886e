#include "config/parts.h"

#include "base/text.h"
#include "config/config.h"
#include "config/keys/value.h"
#include "config/read/toml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SHOWN_BYTES 80

/* Made by the build; a NULL name ends it. */
extern const struct embedded_preset {
    const char *name;
    const char *text;
} embedded_presets[];

const char *config_preset(const char *name)
{
    for (int i = 0; embedded_presets[i].name != NULL; i++)
        if (strcmp(embedded_presets[i].name, name) == 0)
            return embedded_presets[i].text;
    return NULL;
}

char *config_preset_names(char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; embedded_presets[i].name != NULL; i++) {
        size_t used = strlen(out);

        (void)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "",
                       embedded_presets[i].name);
    }
    return out;
}

char *config_preset_columns(void)
{
    char *lines = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&lines, &len);

    for (int i = 0; out != NULL && embedded_presets[i].name != NULL; i++) {
        const char *text = embedded_presets[i].text;
        struct toml_error error;
        struct toml_node *root = toml_parse(text, strlen(text), &error);
        const struct toml_node *columns = toml_find(toml_find(root, "preset"), "columns");

        if (columns != NULL)
            (void)fprintf(out, "%s: %s\n", embedded_presets[i].name, columns->string);
        toml_free(root);
    }
    if (out != NULL && fclose(out) == 0)
        return lines;
    free(lines);
    return NULL;
}

/* A problem with a value of the preset is shown at the line that names the preset. */
static void place(struct toml_node *node, const struct toml_node *at)
{
    node->line = at->line;
    node->column = at->column;
    node->by_preset = true;
    for (int i = 0; i < node->count; i++)
        place(&node->children[i], at);
}

/* Moves what `into` lacks out of `from`. Returns 0, or -1: no memory. */
static int complete(struct toml_node *into, struct toml_node *from)
{
    struct toml_node *children;
    int status = 0;

    if (into->type != TOML_TABLE || from->type != TOML_TABLE || from->count == 0)
        return 0;
    children =
        realloc(into->children, (size_t)(into->count + from->count) * sizeof *into->children);
    if (children == NULL)
        return -1;
    into->children = children;
    for (int i = 0; i < from->count && status == 0; i++) {
        struct toml_node *child = toml_find(into, from->children[i].key);

        if (child != NULL) {
            status = complete(child, &from->children[i]);
        } else {
            into->children[into->count++] = from->children[i];
            from->children[i] = (struct toml_node){0};
        }
    }
    return status;
}

/* A part of the preset that stands at the top level of a configuration too. */
static int complete_part(struct toml_node *root, struct toml_node *preset, const char *part)
{
    struct toml_node *node = toml_find(preset, part);
    struct toml_node whole = {.type = TOML_TABLE, .children = node, .count = 1};

    return node != NULL ? complete(root, &whole) : 0;
}

static int complete_all(struct loader *loader, struct toml_node *preset, const char *text)
{
    struct toml_node *sinks;
    const struct toml_node *columns = toml_find(toml_find(preset, "preset"), "columns");
    struct outbox_options *outbox = &loader->config->relay.outbox;
    int status = complete_part(loader->root, preset, "outbox");

    if (status == 0)
        status = complete_part(loader->root, preset, "route");
    outbox->preset_columns = columns != NULL ? strdup(columns->string) : NULL;
    if (outbox->preset_columns == NULL)
        return -1;
    sinks = toml_find(loader->root, "sink"); /* after the root's children have moved */
    /* Each sink takes a copy: complete() moves. */
    for (int i = 0; status == 0 && sinks != NULL && sinks->type == TOML_TABLE && i < sinks->count;
         i++) {
        struct toml_error error;
        struct toml_node *copy = toml_parse(text, strlen(text), &error);
        struct toml_node *part = toml_find(copy, "sink");

        if (part != NULL) {
            place(part, preset);
            status = complete(&sinks->children[i], part);
        }
        toml_free(copy);
        if (copy == NULL)
            return -1;
    }
    return status;
}

static void refuse(struct loader *loader, struct toml_node *node, const char *name)
{
    char shown[NAME_SHOWN_BYTES];
    char known[400];

    report_refusal(loader->report, node, "preset = \"%s\": known: %s, %s",
                   text_escape(shown, sizeof shown, name, strlen(name)), PRESET_NONE,
                   config_preset_names(known, sizeof known));
}

void preset_apply(struct loader *loader)
{
    struct toml_node *node = toml_find(toml_find(loader->root, "outbox"), "preset");
    char *name = node != NULL && node->type == TOML_STRING
                     ? value_expand("preset", node, loader->report)
                     : NULL;
    const char *text = name != NULL ? config_preset(name) : NULL;
    struct toml_error error = {.text = "out of memory"};
    struct toml_node *preset;

    if (name != NULL && text == NULL && strcmp(name, PRESET_NONE) != 0)
        refuse(loader, node, name);
    if (text != NULL) {
        preset = toml_parse(text, strlen(text), &error);
        if (preset != NULL)
            place(preset, node);
        if (preset == NULL || complete_all(loader, preset, text) < 0)
            report_at(loader->report, 0, 0, "preset \"%s\": %s", name, error.text);
        toml_free(preset);
    }
    free(name);
}
