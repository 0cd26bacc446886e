#include "config/config.h"

#include "config/keys/value.h"

#include <stdio.h>
#include <string.h>

static void print_range(FILE *out, const struct key *key)
{
    char min[32];
    char max[32];

    (void)fprintf(out, "%s%s..%s", (key->flags & KEY_ZERO) != 0 ? "0 or " : "",
                  value_format(min, sizeof min, key, key->min),
                  value_format(max, sizeof max, key, key->max));
}

static void print_type(FILE *out, const struct key *key)
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
        print_range(out, key);
    if ((key->flags & KEY_SECRET) != 0)
        (void)fputs(", secret", out);
}

static void print_sinks(FILE *out, unsigned flags)
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

static void print_row(FILE *out, const struct key *key, bool reloads)
{
    const char *quote = value_is_quoted(key) ? "\"" : "";

    (void)fprintf(out, "| `%s` | ", key->name);
    print_type(out, key);
    (void)fputs(" | ", out);
    if (key->initial != NULL)
        (void)fprintf(out, "`%s%s%s`", quote, key->initial, quote);
    (void)fputs(" | ", out);
    if (reloads)
        (void)fputs((key->flags & KEY_RELOAD) != 0 ? "yes | " : "| ", out);
    print_sinks(out, key->flags);
    (void)fprintf(out, "%s |\n", key->help);
}

static void print_table(FILE *out, enum section section)
{
    bool reloads = false;

    for (size_t i = 0; i < key_count; i++)
        reloads = reloads || (keys[i].section == section && (keys[i].flags & KEY_RELOAD) != 0);
    (void)fprintf(out, "\n| key | value | default |%s meaning |\n| --- | --- | --- |%s --- |\n",
                  reloads ? " SIGHUP |" : "", reloads ? " --- |" : "");
    for (size_t i = 0; i < key_count; i++)
        if (keys[i].section == section)
            print_row(out, &keys[i], reloads);
}

void config_print_reference(FILE *out)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        enum section section = (enum section)i;

        (void)fprintf(out, "%s### `[%s]`\n\n%s\n", i > 0 ? "\n" : "", section_title(section),
                      section_help(section));
        if (section != SECTION_PROPERTIES && section != SECTION_ROW_HEADERS &&
            section != SECTION_ATTRIBUTES)
            print_table(out, section);
    }
}
