#include "config/check/check.h"

#include "base/text.h"
#include "config/read/expand.h"
#include "source/conninfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS_MAY_READ 0044U

static bool is_written(const struct toml_node *node)
{
    char *literal = node->type == TOML_STRING ? expand_literal(node->string) : NULL;
    bool written = literal != NULL && literal[0] != '\0';

    free(literal);
    return written;
}

static bool url_holds_password(const struct toml_node *node)
{
    char *literal = node->type == TOML_STRING ? expand_literal(node->string) : NULL;
    bool holds = literal != NULL && conninfo_has_secret(literal);

    free(literal);
    return holds;
}

static void refuse(const struct loader *loader, const struct toml_node *node, const char *what,
                   const char *instead)
{
    char name[256];
    char path[256];

    text_escape(name, sizeof name, node->key, strlen(node->key));
    text_escape(path, sizeof path, loader->report->name, strlen(loader->report->name));
    report_problem(
        loader->report, node,
        "%s: %s is written in a file that others can read (%04o); run chmod 600 %s, or use "
        "%s${VAR}",
        name, what, loader->mode, path, instead);
}

/* "sasl.password_file" stands for "sasl.password" (broker/kafka/options.c). */
static void refuse_property(const struct loader *loader, const struct toml_node *property)
{
    static const char ending[] = "password";
    size_t len = strlen(property->key);
    char name[96];
    char instead[128] = "";

    if (len >= strlen(ending) && strcmp(property->key + len - strlen(ending), ending) == 0)
        (void)snprintf(instead, sizeof instead, "\"%s_file\" or ",
                       text_escape(name, sizeof name, property->key, len));
    refuse(loader, property, "a secret", instead);
}

static void check_properties(const struct loader *loader, const struct toml_node *properties)
{
    if (properties == NULL || properties->type != TOML_TABLE)
        return;
    for (int i = 0; i < properties->count; i++) {
        const struct toml_node *property = &properties->children[i];

        if (is_secret_property(property->key) &&
            (property->type == TOML_INTEGER || is_written(property)))
            refuse_property(loader, property);
    }
}

static void check_sink_secrets(const struct loader *loader, const struct toml_node *sink)
{
    for (size_t i = 0; i < key_count; i++) {
        const struct toml_node *node;
        char instead[64];

        if (keys[i].section != SECTION_SINK || (keys[i].flags & KEY_SECRET) == 0)
            continue;
        node = toml_find(sink, keys[i].name);
        (void)snprintf(instead, sizeof instead, "%s_file or ", keys[i].name);
        if (node != NULL && is_written(node))
            refuse(loader, node, "a secret", instead);
    }
    check_properties(loader, toml_find(sink, "properties"));
}

void check_secrets(const struct loader *loader)
{
    const struct toml_node *headers = toml_find(toml_find(loader->root, "trace"), "headers");
    const struct toml_node *url = toml_find(toml_find(loader->root, "database"), "url");
    const struct toml_node *sinks = toml_find(loader->root, "sink");

    if ((loader->mode & OTHERS_MAY_READ) == 0)
        return;
    if (url != NULL && url_holds_password(url))
        refuse(loader, url, "a password", "password_file or ");
    if (headers != NULL && headers->type == TOML_STRING && !expand_has_variable(headers->string))
        refuse(loader, headers, "a secret", "");
    for (int i = 0; sinks != NULL && i < sinks->count; i++)
        check_sink_secrets(loader, &sinks->children[i]);
}
