#include "config/keys/value.h"

#include "base/text.h"
#include "config/read/expand.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *field_of(const struct key *key, const void *base)
{
    return (char *)(uintptr_t)base + key->offset;
}

char *value_string(const struct key *key, const void *base)
{
    char *string;

    memcpy(&string, field_of(key, base), sizeof string);
    return string;
}

static void set_string(const struct key *key, void *base, char *string)
{
    free(value_string(key, base));
    memcpy(field_of(key, base), &string, sizeof string);
}

void value_swap_string(const struct key *key, void *a, void *b)
{
    char *of_a = value_string(key, a);
    char *of_b = value_string(key, b);

    memcpy(field_of(key, a), &of_b, sizeof of_b);
    memcpy(field_of(key, b), &of_a, sizeof of_a);
}

struct text_list *value_list(const struct key *key, const void *base)
{
    return field_of(key, base);
}

int64_t value_number(const struct key *key, const void *base)
{
    const void *field = field_of(key, base);

    switch (key->type) {
    case KEY_BOOLEAN:
    case KEY_SWITCH:
        return *(const bool *)field;
    case KEY_INTEGER:
    case KEY_WORD:
        return *(const int *)field;
    default:
        return *(const int64_t *)field;
    }
}

void value_set_number(const struct key *key, void *base, int64_t number)
{
    void *field = field_of(key, base);

    switch (key->type) {
    case KEY_BOOLEAN:
    case KEY_SWITCH:
        *(bool *)field = number != 0;
        break;
    case KEY_INTEGER:
    case KEY_WORD:
        *(int *)field = (int)number;
        break;
    default:
        *(int64_t *)field = number;
    }
}

static int64_t find_word(const char *const *words, const char *text)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    return -1;
}

static int64_t parse_integer(const char *text)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    return errno != 0 || *end != '\0' || end == text || number < 0 ? -1 : number;
}

/* A number that is not negative. -1: the text is not of this type. */
static int64_t parse_number(const struct key *key, const char *text)
{
    static const char *const boolean_words[] = {"false", "true", NULL};

    switch (key->type) {
    case KEY_BOOLEAN:
        return find_word(boolean_words, text);
    case KEY_INTEGER:
        return parse_integer(text);
    case KEY_DURATION:
        return text_parse_duration_ms(text);
    case KEY_SIZE:
        return text_parse_size(text);
    default:
        return find_word(key->words, text);
    }
}

char *value_format(char *out, size_t size, const struct key *key, int64_t number)
{
    switch (key->type) {
    case KEY_BOOLEAN:
        (void)snprintf(out, size, "%s", number != 0 ? "true" : "false");
        return out;
    case KEY_DURATION:
        return text_format_duration(out, size, number);
    case KEY_SIZE:
        return text_format_size(out, size, number);
    case KEY_WORD:
    case KEY_SWITCH:
        (void)snprintf(out, size, "%s", key->words[number]);
        return out;
    default:
        (void)snprintf(out, size, "%" PRId64, number);
        return out;
    }
}

bool value_is_quoted(const struct key *key)
{
    return key->type != KEY_BOOLEAN && key->type != KEY_INTEGER;
}

char *value_describe(char *out, size_t size, const struct toml_node *node, bool secret)
{
    static const char *const names[] = {
        [TOML_TABLE] = "a table",      [TOML_ARRAY] = "a list",  [TOML_STRING] = "a string",
        [TOML_INTEGER] = "an integer", [TOML_FLOAT] = "a float", [TOML_BOOLEAN] = "a boolean",
        [TOML_DATE] = "a date"};
    char shown[SHOWN_BYTES];

    if (secret)
        (void)snprintf(out, size, "%s", names[node->type]);
    else if (node->type == TOML_STRING)
        (void)snprintf(out, size, "a string \"%s\"",
                       text_escape(shown, sizeof shown, node->string, strlen(node->string)));
    else if (node->type == TOML_INTEGER)
        (void)snprintf(out, size, "an integer %" PRId64, node->integer);
    else if (node->type == TOML_FLOAT)
        (void)snprintf(out, size, "a float %g", node->real);
    else if (node->type == TOML_BOOLEAN)
        (void)snprintf(out, size, "a boolean %s", node->boolean ? "true" : "false");
    else
        (void)snprintf(out, size, "%s", names[node->type]);
    return out;
}

static void refuse_type(const struct key *key, struct toml_node *node, struct problems *report)
{
    static const char *const expected[] = {[KEY_STRING] = "a string",
                                           [KEY_LIST] = "a list of strings",
                                           [KEY_BOOLEAN] = "true or false",
                                           [KEY_INTEGER] = "an integer",
                                           [KEY_DURATION] =
                                               "a duration such as \"250ms\" or \"10s\"",
                                           [KEY_SIZE] = "a size such as \"8MiB\"",
                                           [KEY_WORD] = "a string",
                                           [KEY_SWITCH] = "the string \"on\" or \"off\""};
    char found[SHOWN_BYTES + 32];

    report_refusal(report, node, "%s: expected %s, got %s", key->name, expected[key->type],
                   value_describe(found, sizeof found, node, (key->flags & KEY_SECRET) != 0));
}

char *value_expand(const char *key, struct toml_node *node, struct problems *report)
{
    char why[256];
    char shown[SHOWN_BYTES];
    char *text = expand(node->string, why, sizeof why);

    if (text == NULL)
        report_refusal(report, node, "%s: %s", text_escape(shown, sizeof shown, key, strlen(key)),
                       why);
    return text;
}

static void refuse_word(const struct key *key, struct toml_node *node, const char *written,
                        struct problems *report)
{
    char allowed[128] = "";

    for (int i = 0; key->words[i] != NULL; i++) {
        size_t used = strlen(allowed);
        const char *glue = i == 0 ? "" : key->words[i + 1] == NULL ? " or " : ", ";

        (void)snprintf(allowed + used, sizeof allowed - used, "%s\"%s\"", glue, key->words[i]);
    }
    report_refusal(report, node, "%s = %s: must be %s", key->name, written, allowed);
}

/* `written` is the value as the file has it, so that messages do not show a variable's value. */
static void store_number(const struct key *key, struct toml_node *node, int64_t number,
                         const char *written, void *base, struct problems *report)
{
    bool has_range = key->type == KEY_INTEGER || key->type == KEY_DURATION || key->type == KEY_SIZE;
    bool is_zero = number == 0 && (key->flags & KEY_ZERO) != 0;
    char min[32];
    char max[32];

    if (!has_range || is_zero || (number >= key->min && number <= key->max))
        value_set_number(key, base, number);
    else
        report_refusal(report, node, "%s = %s: must be %s%s..%s", key->name, written,
                       (key->flags & KEY_ZERO) != 0 ? "\"0\" or " : "",
                       value_format(min, sizeof min, key, key->min),
                       value_format(max, sizeof max, key, key->max));
}

static void read_number_text(const struct key *key, struct toml_node *node, void *base,
                             struct problems *report)
{
    char shown[SHOWN_BYTES];
    char written[SHOWN_BYTES + 2];
    char *text = value_expand(key->name, node, report);
    int64_t number;

    if (text == NULL)
        return;
    number = parse_number(key, text);
    free(text);
    (void)snprintf(written, sizeof written, "\"%s\"",
                   text_escape(shown, sizeof shown, node->string, strlen(node->string)));
    if (number >= 0)
        store_number(key, node, number, written, base, report);
    else if (key->words != NULL)
        refuse_word(key, node, written, report);
    else
        refuse_type(key, node, report);
}

static void read_number(const struct key *key, struct toml_node *node, void *base,
                        struct problems *report)
{
    bool takes_integer = key->type == KEY_INTEGER || key->type == KEY_SIZE;
    char written[32];

    if (node->type == TOML_STRING && (value_is_quoted(key) || expand_has_variable(node->string))) {
        read_number_text(key, node, base, report);
    } else if (node->type == TOML_INTEGER && takes_integer) {
        (void)snprintf(written, sizeof written, "%" PRId64, node->integer);
        store_number(key, node, node->integer, written, base, report);
    } else if (node->type == TOML_BOOLEAN && key->type == KEY_BOOLEAN) {
        value_set_number(key, base, node->boolean);
    } else {
        refuse_type(key, node, report);
    }
}

/* NULL when a problem has been reported. */
static char *read_text(const struct key *key, struct toml_node *node, struct problems *report)
{
    char *text = value_expand(key->name, node, report);
    size_t len = text != NULL ? strlen(text) : 0;

    if (text == NULL)
        return NULL;
    if (len >= (size_t)key->min && (key->max == 0 || len <= (size_t)key->max))
        return text;
    if (len == 0)
        report_refusal(report, node, "%s: must not be empty", key->name);
    else
        report_refusal(report, node, "%s: longer than %" PRId64 " bytes", key->name, key->max);
    free(text);
    return NULL;
}

static void free_list(struct text_list *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->items[i]);
    *list = (struct text_list){0};
}

/* NULL when a problem has been reported. */
static char *read_item(const struct key *key, struct toml_node *node, struct problems *report)
{
    char found[SHOWN_BYTES + 32];

    if (node->type == TOML_STRING)
        return read_text(key, node, report);
    report_refusal(report, node, "%s: expected a list of strings, got %s in it", key->name,
                   value_describe(found, sizeof found, node, false));
    return NULL;
}

static void read_list(const struct key *key, struct toml_node *node, void *base,
                      struct problems *report)
{
    struct text_list *list = value_list(key, base);

    if (node->type != TOML_ARRAY) {
        refuse_type(key, node, report);
        return;
    }
    if (node->count == 0 || node->count > SINK_LIST_MAX) {
        report_refusal(report, node, "%s: %d items; must be 1..%d", key->name, node->count,
                       SINK_LIST_MAX);
        return;
    }
    free_list(list);
    for (int i = 0; i < node->count; i++) {
        char *item = read_item(key, &node->children[i], report);

        if (item != NULL)
            list->items[list->count++] = item;
        else
            node->refused = true;
    }
}

void value_read(const struct key *key, struct toml_node *node, void *base, struct problems *report)
{
    char *text;

    if (key->type == KEY_STRING && node->type != TOML_STRING) {
        refuse_type(key, node, report);
    } else if (key->type == KEY_STRING) {
        text = read_text(key, node, report);
        if (text != NULL)
            set_string(key, base, text);
    } else if (key->type == KEY_LIST) {
        read_list(key, node, base, report);
    } else {
        read_number(key, node, base, report);
    }
}

static int set_default(const struct key *key, void *base)
{
    char *copy;

    if (key->initial == NULL)
        return 0;
    if (key->type != KEY_STRING) {
        value_set_number(key, base, parse_number(key, key->initial));
        return 0;
    }
    copy = strdup(key->initial);
    if (copy == NULL)
        return -1;
    set_string(key, base, copy);
    return 0;
}

int value_set_defaults(enum section section, void *base)
{
    for (size_t i = 0; i < key_count; i++)
        if (keys[i].section == section && set_default(&keys[i], base) < 0)
            return -1;
    return 0;
}

void value_free(enum section section, void *base)
{
    for (size_t i = 0; i < key_count; i++) {
        if (keys[i].section != section)
            continue;
        if (keys[i].type == KEY_STRING)
            set_string(&keys[i], base, NULL);
        else if (keys[i].type == KEY_LIST)
            free_list(value_list(&keys[i], base));
    }
}
