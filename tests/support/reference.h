#ifndef SUPPORT_REFERENCE_H
#define SUPPORT_REFERENCE_H

/*
 * The reference of all keys as Markdown, for docs/configuration.md: what a key takes is in the
 * program's table of keys, and what it means, or a section, in the comment above it in
 * config/relay.toml, at the first place if it stands there for several types of sinks.
 */

#include "config/config.h"
#include "config/keys/keys.h"
#include "config/keys/value.h"

#include <stdio.h>
#include <string.h>

#define REFERENCE_HELP_BYTES 2048

struct reference_help {
    char text[REFERENCE_HELP_BYTES]; /* "": no comment */
    char shown[256];                 /* the value beside the key */
    bool is_example;                 /* which is commented out */
};

/* "sink.NAME.headers" stands for "sink.bus.headers". */
static inline bool reference_is_section(enum section section, const char *line, size_t len)
{
    const char *title = section_title(section);
    char name[64];
    const char *rest;

    (void)snprintf(name, sizeof name, "%.*s", (int)len - 2, line + 1);
    if (strncmp(title, "sink.", 5) != 0 || strncmp(name, "sink.", 5) != 0)
        return strcmp(title, name) == 0;
    title = strchr(title + 5, '.');
    rest = strchr(name + 5, '.');
    return title == NULL || rest == NULL ? title == rest : strcmp(title, rest) == 0;
}

/* Reads the comment above the key, or above the section if `name` is NULL. Whether it is there. */
static inline bool reference_find(struct reference_help *help, enum section section,
                                  const char *name)
{
    bool is_inside = false;

    help->text[0] = '\0';
    for (const char *line = config_sample(); *line != '\0'; line += strcspn(line, "\n") + 1) {
        const char *text = strncmp(line, "# ", 2) == 0 ? line + 2 : line;
        size_t len = strcspn(text, "\n");
        size_t name_len = strspn(text, "abcdefghijklmnopqrstuvwxyz_\".");
        size_t used = strlen(help->text);

        help->is_example = text != line;
        if (name_len > 0 && strncmp(text + name_len, " = ", 3) == 0) {
            (void)snprintf(help->shown, sizeof help->shown, "%.*s", (int)(len - name_len - 3),
                           text + name_len + 3);
            if (is_inside && name != NULL && strlen(name) == name_len &&
                strncmp(text, name, name_len) == 0)
                return true;
            help->text[0] = '\0';
        } else if (text[0] == '[' && text[len - 1] == ']') {
            is_inside = reference_is_section(section, text, len);
            if (is_inside && name == NULL)
                return true;
            help->text[0] = '\0';
        } else if (text != line) {
            (void)snprintf(help->text + used, sizeof help->text - used, "%s%.*s",
                           used > 0 ? " " : "", (int)len, text);
        } else {
            help->text[0] = '\0'; /* "#", or an empty line */
        }
    }
    return false;
}

/* What has a column of its own is not said twice. */
static inline void reference_cut(char *text, const char *sentence)
{
    size_t len = strlen(text);
    size_t end = strlen(sentence);

    if (len > end && strcmp(text + len - end, sentence) == 0)
        text[len - end] = '\0';
}

static inline void reference_put_value(FILE *out, const struct key *key, const char *range)
{
    static const char *const names[] = {[KEY_STRING] = "string",
                                        [KEY_LIST] = "list of strings",
                                        [KEY_BOOLEAN] = "`true`, `false`",
                                        [KEY_INTEGER] = "integer, ",
                                        [KEY_DURATION] = "duration, ",
                                        [KEY_SIZE] = "size, ",
                                        [KEY_WORD] = "",
                                        [KEY_SWITCH] = ""};

    (void)fputs(names[key->type], out);
    for (int i = 0; key->words != NULL && key->words[i] != NULL; i++)
        (void)fprintf(out, "%s`\"%s\"`", i > 0 ? ", " : "", key->words[i]);
    if (key->type == KEY_INTEGER || key->type == KEY_DURATION || key->type == KEY_SIZE)
        (void)fprintf(out, "%s%s", (key->flags & KEY_ZERO) != 0 ? "0 or " : "", range);
    if ((key->flags & KEY_SECRET) != 0)
        (void)fputs(", secret", out);
}

static inline void reference_put_sinks(FILE *out, unsigned flags)
{
    const char *glue = "";

    if ((flags & KEY_ANY_SINK) == 0 || (flags & KEY_ANY_SINK) == KEY_ANY_SINK)
        return;
    for (const struct sink_type *type = sink_types; type->name != NULL; type++)
        if ((flags & type->flag) != 0) {
            (void)fprintf(out, "%s%s", glue, type->name);
            glue = ", ";
        }
    (void)fputs(": ", out);
}

static inline void reference_put_key(FILE *out, const struct key *key, bool reloads)
{
    const char *quote = value_is_quoted(key) ? "\"" : "";
    bool is_name = key->section == SECTION_COLUMNS || key->section == SECTION_HEADERS;
    struct reference_help help;
    char min[32];
    char max[32];
    char range[80];
    char initial[sizeof help.shown] = "";
    char sentence[sizeof initial + 32];

    (void)reference_find(&help, key->section, key->name);
    (void)snprintf(range, sizeof range, "%s..%s", value_format(min, sizeof min, key, key->min),
                   value_format(max, sizeof max, key, key->max));
    (void)snprintf(sentence, sizeof sentence, " %s.", range);
    reference_cut(help.text, sentence);
    if (key->initial != NULL)
        (void)snprintf(initial, sizeof initial, "%s%s%s", quote, key->initial, quote);
    else if (is_name) /* which the preset may say otherwise */
        (void)snprintf(initial, sizeof initial, "%s", help.shown);
    (void)snprintf(sentence, sizeof sentence, " The default is %s.", initial);
    reference_cut(help.text, sentence);

    (void)fprintf(out, "| `%s` | ", key->name);
    reference_put_value(out, key, range);
    (void)fprintf(out, initial[0] != '\0' ? " | `%s` | " : " | %s | ", initial);
    if (reloads)
        (void)fputs((key->flags & KEY_RELOAD) != 0 ? "yes | " : "| ", out);
    reference_put_sinks(out, key->flags);
    (void)fputs(help.text, out);
    if (help.is_example && strcmp(help.shown, initial) != 0)
        (void)fprintf(out, " Example: `%s`.", help.shown);
    (void)fputs(" |\n", out);
}

static inline void reference_put_table(FILE *out, enum section section)
{
    bool reloads = false;
    int count = 0;

    for (size_t i = 0; i < key_count; i++) {
        count += keys[i].section == section;
        reloads = reloads || (keys[i].section == section && (keys[i].flags & KEY_RELOAD) != 0);
    }
    if (count == 0)
        return;
    (void)fprintf(out, "\n| key | value | default |%s meaning |\n| --- | --- | --- |%s --- |\n",
                  reloads ? " SIGHUP |" : "", reloads ? " --- |" : "");
    for (size_t i = 0; i < key_count; i++)
        if (keys[i].section == section)
            reference_put_key(out, &keys[i], reloads);
}

static inline void reference_print(FILE *out)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        struct reference_help help;

        (void)reference_find(&help, (enum section)i, NULL);
        (void)fprintf(out, "%s### `[%s]`\n\n%s\n", i > 0 ? "\n" : "",
                      section_title((enum section)i), help.text);
        reference_put_table(out, (enum section)i);
    }
}

#endif
