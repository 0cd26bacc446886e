#include "cli/cli.h"

#include "base/text.h"
#include "source/admin.h"
#include "source/source.h"

#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_MAX 255     /* bytes */
#define ROWS_MAX 999999999 /* one more can be counted */
#define CODES 256          /* getopt's code of an option is this and its index in the command's */
#define NO_FIELD SIZE_MAX

enum kind {
    FLAG, /* bool */
    TEXT, /* const char *; as the next three */
    NOT_EMPTY,
    REASON,
    MOMENT,
    DURATION, /* int64_t, milliseconds */
    COUNT     /* int */
};

/* Those that have a field of struct arguments. */
static const struct known {
    const char *name;
    enum kind kind;
    size_t offset; /* in struct arguments; NO_FIELD: it has none */
    int min, max;  /* of a COUNT */
    const char *wants;
} options[] = {
#define FIELD(name) offsetof(struct arguments, name)
    {"config", TEXT, FIELD(config), 0, 0, NULL},
    {"drain", FLAG, FIELD(drain), 0, 0, NULL},
    {"print", FLAG, FIELD(print), 0, 0, NULL},
    {"grant", NOT_EMPTY, FIELD(grant), 0, 0, "a role"},
    {"notify", FLAG, FIELD(notify), 0, 0, NULL},
    {"order-trigger", FLAG, FIELD(order_trigger), 0, 0, NULL},
    {"partitions", COUNT, FIELD(partitions), 1000, ROWS_MAX, "a number of rows from 1000 on"},
    {"inbox", FLAG, FIELD(inbox), 0, 0, NULL},
    {"feed", NOT_EMPTY, FIELD(feed), 0, 0, "a table"},
    {"json", FLAG, FIELD(json), 0, 0, NULL},
    {"watch", FLAG, FIELD(watch), 0, 0, NULL},
    {"lanes", FLAG, FIELD(lanes), 0, 0, NULL},
    {"max-age", DURATION, FIELD(max_age_ms), 0, 0, "a duration such as 60s or 5m"},
    {"max-backlog", COUNT, FIELD(max_backlog), 0, ROWS_MAX, "a number of rows"},
    {"max-dead", COUNT, FIELD(max_dead), 0, ROWS_MAX, "a number of rows"},
    {"max-parked", COUNT, FIELD(max_parked), 0, ROWS_MAX, "a number of rows"},
    {"list", FLAG, FIELD(list), 0, 0, NULL},
    {"last", COUNT, FIELD(last), 1, EXPLAIN_ROWS_MAX, "a number from 1 to 1000"},
    {"where", NOT_EMPTY, FIELD(where), 0, 0, "an SQL condition"},
    {"type", TEXT, FIELD(type), 0, 0, NULL},
    {"older-than", DURATION, FIELD(older_than_ms), 0, 0, "a duration such as 12h or 7d"},
    {"dry-run", FLAG, FIELD(dry_run), 0, 0, NULL},
    {"defaults", FLAG, FIELD(defaults), 0, 0, NULL},
    {"preset", NOT_EMPTY, FIELD(preset), 0, 0, "a preset"},
    {"topic", TEXT, NO_FIELD, 0, 0, NULL},
    {"since", MOMENT, FIELD(since), 0, 0,
     "a duration such as 2h, or a time such as \"2026-01-31 22:15\""},
    {"from", NOT_EMPTY, FIELD(from), 0, 0, "a row id"},
    {"to", NOT_EMPTY, FIELD(to), 0, 0, "a row id"},
    {"sink", NOT_EMPTY, FIELD(sink), 0, 0, "the name of a sink"},
    {"repair", FLAG, FIELD(repair), 0, 0, NULL},
    {"yes", FLAG, FIELD(yes), 0, 0, NULL},
    {"rate", COUNT, FIELD(rate), 1, 9999999, "rows a second, 1 to 9999999"},
#undef FIELD
};
#define OPTIONS (sizeof options / sizeof *options)

/* Those of a command of the desk, by what its rule has behind their names. */
static const struct known others[] = {
    {"", FLAG, NO_FIELD, 0, 0, NULL},
    {"=N", COUNT, NO_FIELD, 1, INT_MAX, "a number from 1 on"},
    {"=D", DURATION, NO_FIELD, 0, 0, "a duration such as 12h or 7d"},
    {"=REASON", REASON, NO_FIELD, 0, 0, "at most 255 bytes of UTF-8"},
    {"=TEXT", TEXT, NO_FIELD, 0, 0, NULL},
};

static size_t len_of_name(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyz-");
}

static bool is(struct text text, const char *word)
{
    return text_equal(text, text_of(word));
}

/* `words` goes on behind the next option. Whether there is one. */
static bool next_option(struct text *words, struct cli_option *option)
{
    struct text name = {NULL, 0};

    (void)text_take(words, "--");
    if (words->len == 0)
        return false;
    name = (struct text){words->data, len_of_name(words->data)};
    (void)snprintf(option->name, sizeof option->name, "%.*s", (int)name.len, name.data);
    name = (struct text){name.data + name.len, strcspn(name.data + name.len, " :|\n")};
    option->unit = (struct text){name.data + name.len, 0};
    if (*option->unit.data == ':')
        option->unit =
            (struct text){name.data + name.len + 1, len_of_name(name.data + name.len + 1)};
    option->known = NULL;
    for (size_t i = 0; i < OPTIONS; i++)
        if (strcmp(options[i].name, option->name) == 0)
            option->known = &options[i];
    for (size_t i = 0; i < sizeof others / sizeof *others && option->known == NULL; i++)
        if (is(name, others[i].name))
            option->known = &others[i];
    return option->known != NULL;
}

static struct cli_option *find(struct cli_option *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

/* Whether one of the words is this option. */
static bool has_option(struct text words, const char *name)
{
    struct cli_option option;

    while (next_option(&words, &option))
        if (strcmp(option.name, name) == 0)
            return true;
    return false;
}

/* The options of the command, --config first, which all of them have. */
static int list_options(const struct command *command, struct cli_option list[OPTIONS_MAX])
{
    struct text rules = command->rules;
    int count = 1;

    memset(list, 0, OPTIONS_MAX * sizeof *list);
    (void)snprintf(list[0].name, sizeof list[0].name, "%s", options[0].name);
    list[0].known = options;
    while (count < OPTIONS_MAX && next_option(&rules, &list[count]))
        count += find(list, count, list[count].name) == NULL;
    return count;
}

static bool complain(const struct arguments *arguments, const char *what, const char *value)
{
    const struct command *command = arguments->command;

    (void)fprintf(stderr, "%s %s%s%.*s: %s%s%s%s\nusage: %s %s %.*s\n", source_program,
                  command->name, arguments->verb.len > 0 ? " " : "", (int)arguments->verb.len,
                  arguments->verb.data, what, value != NULL ? " \"" : "",
                  value != NULL ? value : "", value != NULL ? "\"" : "", source_program,
                  command->name, (int)command->synopsis.len, command->synopsis.data);
    return false;
}

static bool complain_of_option(const struct arguments *arguments, const struct cli_option *known,
                               int count, const char *option)
{
    struct text_nearest nearest = {.to = option + 2, .distance = 3};
    char what[64] = "unknown option";

    for (int i = 0; i < count && strncmp(option, "--", 2) == 0; i++)
        text_consider(&nearest, known[i].name);
    if (nearest.name != NULL)
        (void)snprintf(what, sizeof what, "did you mean \"--%s\"? Unknown option", nearest.name);
    return complain(arguments, what, option);
}

/* A duration, or what begins as a date does: PostgreSQL, which reads the rest, would also take
 * words such as "now" or a bare number. */
static bool is_moment(const char *value)
{
    static const char date[] = "0000-00-00";

    for (size_t i = 0; i < sizeof date - 1; i++)
        if (date[i] == '0' ? value[i] < '0' || value[i] > '9' : value[i] != date[i])
            return text_parse_duration_ms(value) >= 0;
    return true;
}

static bool is_valid(enum kind kind, const char *value)
{
    if (kind == REASON)
        return strlen(value) <= REASON_MAX && text_is_utf8(value, strlen(value));
    return kind == MOMENT ? is_moment(value) : kind == TEXT || value[0] != '\0';
}

/* -1: it is no number. */
static int64_t parse_count(const char *value)
{
    size_t len = strspn(value, "0123456789");

    return len > 0 && len <= 10 && value[len] == '\0' ? strtoll(value, NULL, 10) : -1;
}

static bool set_value(struct arguments *arguments, const struct cli_option *option)
{
    const struct known *known = option->known;
    const char *value = option->value;
    void *field = known->offset != NO_FIELD ? (char *)arguments + known->offset : NULL;
    bool valid = true;
    int64_t number = 0;
    char what[128];

    if (known->kind == FLAG && field != NULL) {
        *(bool *)field = true;
    } else if (known->kind == DURATION) {
        number = text_parse_duration_ms(value);
        valid = number >= 0;
        if (field != NULL)
            *(int64_t *)field = number;
    } else if (known->kind == COUNT) {
        number = parse_count(value);
        valid = number >= known->min && number <= known->max;
        if (field != NULL && valid)
            *(int *)field = (int)number;
    } else if (known->kind != FLAG) {
        valid = is_valid(known->kind, value);
        if (field != NULL)
            *(const char **)field = value;
    }
    if (valid)
        return true;
    if (option->unit.len > 0)
        (void)snprintf(what, sizeof what, "--%s wants a number of %.*s from %d on, not",
                       option->name, (int)option->unit.len, option->unit.data, known->min);
    else
        (void)snprintf(what, sizeof what, "--%s wants %s, not", option->name, known->wants);
    return complain(arguments, what, value);
}

bool cli_is_utf8(const struct arguments *arguments)
{
    bool valid = true;

    for (int i = 0; i < arguments->given_count; i++) {
        const char *value = arguments->given[i].value;

        if (strcmp(arguments->given[i].name, "config") != 0) /* a path may be anything */
            valid = valid && text_is_utf8(value, strlen(value));
    }
    for (int i = 0; i < arguments->operand_count; i++)
        valid = valid && text_is_utf8(arguments->operands[i], strlen(arguments->operands[i]));
    return valid;
}

/* ---- the rule that holds, and what it says */

/* The words up to the steps, and the verb before them; *rules goes on behind them. */
static struct text take_rule(struct text *rules, struct text *verb, struct text *steps)
{
    struct text rule = text_take(rules, "\n@");
    struct text words = text_take(&rule, "\n");
    struct text rest = words;

    (void)text_take(&rest, " ");
    *steps = rule;
    *verb = (struct text){rest.data, 0};
    if (rest.len == 0 || rest.data[0] < 'a' || rest.data[0] > 'z')
        return rest;
    *verb = text_take(&rest, " ");
    return rest;
}

/* The rule of the verb that is given, or else the one without a verb. */
static bool choose_rule(struct arguments *arguments)
{
    struct text rules = arguments->command->rules;
    const char *first = arguments->operand_count > 0 ? arguments->operands[0] : "";
    bool is_given = false;
    bool is_found = false;

    do {
        struct text verb;
        struct text steps;
        struct text words = take_rule(&rules, &verb, &steps);

        is_given = verb.len > 0 && is(verb, first);
        if (!is_given && verb.len > 0)
            continue;
        is_found = true;
        arguments->verb = verb;
        arguments->words = words;
        while (steps.len == 0 && rules.len > 0)
            (void)take_rule(&rules, &verb, &steps);
        arguments->steps = steps;
    } while (!is_given && rules.len > 0);
    if (is_given)
        memmove(arguments->operands, arguments->operands + 1,
                (size_t)--arguments->operand_count * sizeof *arguments->operands);
    return is_found ||
           complain(arguments,
                    *first == '\0' ? "an argument is missing" : "there is no such command as",
                    *first == '\0' ? NULL : first);
}

/* The options without what they want. */
static void name_either(struct text either, char *out, size_t size)
{
    const char *mark = "give either ";

    out[0] = '\0';
    while (either.len > 0) {
        struct text word = text_take(&either, "|");
        struct text name = text_take(&word, "=");
        size_t len = strlen(out);

        (void)snprintf(out + len, size - len, "%s%.*s", mark, (int)name.len, name.data);
        mark = "|";
    }
}

/* Whether options and arguments are those of the rule. */
static bool check_rule(const struct arguments *arguments)
{
    struct text either = {"", 0};
    bool by_option = false;
    int min = 0;
    int max = 0;
    char give[128];

    for (struct text rest = arguments->words; rest.len > 0;) {
        struct text word = text_take(&rest, " ");
        const char *many = memmem(word.data, word.len, "...", 3);

        if (word.len == 0 || word.data[0] == '-')
            continue;
        if (memchr(word.data, '|', word.len) != NULL)
            either = word;
        else
            min += word.data[0] != '[';
        max += many == NULL ? 1 : many[3] == '1' ? (int)strtol(many + 3, NULL, 10) : OPERANDS_MAX;
    }
    for (int i = 0; i < arguments->given_count; i++) {
        const struct cli_option *option = &arguments->given[i];

        if (option->known != options && !has_option(arguments->words, option->name))
            return complain(arguments, "option does not apply here:", option->name);
        by_option = by_option || has_option(either, option->name);
    }
    if (arguments->operand_count > max)
        return complain(arguments, "unexpected argument", arguments->operands[max]);
    name_either(either, give, sizeof give);
    if (either.len > 0 && by_option == (arguments->operand_count > 0))
        return complain(arguments, give, NULL);
    return arguments->operand_count >= min || complain(arguments, "an argument is missing", NULL);
}

/* ---- all of it */

bool cli_parse(const struct command *command, int argc, char **argv, struct arguments *arguments)
{
    static struct cli_option list[OPTIONS_MAX]; /* their names are used as long as the arguments */
    struct option known[OPTIONS_MAX + 1] = {0};
    int count = list_options(command, list);
    int code;

    *arguments = (struct arguments){.command = command,
                                    .older_than_ms = -1,
                                    .max_age_ms = -1,
                                    .max_backlog = -1,
                                    .max_dead = -1,
                                    .max_parked = -1};
    for (int i = 0; i < count; i++)
        known[i] = (struct option){list[i].name,
                                   list[i].known->kind == FLAG ? no_argument : required_argument,
                                   NULL, CODES + i};
    optind = 0; /* glibc: start afresh, permuting */
    opterr = 0;
    while ((code = getopt_long(argc, argv, ":c:", known, NULL)) != -1) {
        char letter[3] = {'-', (char)optopt, '\0'};
        const char *given = optopt > 0 && optopt < CODES ? letter : argv[optind - 1];
        struct cli_option *option = &list[code >= CODES ? code - CODES : 0]; /* -c is the first */

        if (code == '?')
            return complain_of_option(arguments, list, count, given);
        if (code == ':')
            return complain(arguments, "a value is missing after", given);
        option->value = optarg != NULL ? optarg : "true";
        if (!set_value(arguments, option))
            return false;
    }
    for (int i = 0; i < count; i++)
        if (list[i].value != NULL)
            arguments->given[arguments->given_count++] = list[i];
    for (int i = optind; i < argc; i++) {
        if (arguments->operand_count == OPERANDS_MAX)
            return complain(arguments, "unexpected argument", argv[i]);
        arguments->operands[arguments->operand_count++] = argv[i];
    }
    return choose_rule(arguments) && check_rule(arguments);
}
