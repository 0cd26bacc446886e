#include "cli/cli.h"

#include "admin/admin.h"
#include "base/text.h"

#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_MAX 255     /* bytes */
#define ROWS_MAX 999999999 /* one more can be counted */
#define CODES 256          /* getopt's code of an option is this and its index in the table */

enum kind {
    FLAG, /* bool */
    TEXT, /* const char *; as the next three */
    NOT_EMPTY,
    REASON,
    MOMENT,
    DURATION, /* int64_t, milliseconds */
    COUNT     /* int */
};

static const struct {
    const char *name;
    enum kind kind;
    size_t offset; /* in struct arguments */
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
    {"limit", COUNT, FIELD(limit), 1, INT_MAX, "a number of rows from 1 on"},
    {"type", TEXT, FIELD(type), 0, 0, NULL},
    {"older-than", DURATION, FIELD(older_than_ms), 0, 0, "a duration such as 12h or 7d"},
    {"dry-run", FLAG, FIELD(dry_run), 0, 0, NULL},
    {"defaults", FLAG, FIELD(defaults), 0, 0, NULL},
    {"preset", NOT_EMPTY, FIELD(preset), 0, 0, "a preset"},
    {"all", FLAG, FIELD(all), 0, 0, NULL},
    {"topic", TEXT, FIELD(topic), 0, 0, NULL},
    {"since", MOMENT, FIELD(since), 0, 0,
     "a duration such as 2h, or a time such as \"2026-01-31 22:15\""},
    {"from", NOT_EMPTY, FIELD(from), 0, 0, "a row id"},
    {"to", NOT_EMPTY, FIELD(to), 0, 0, "a row id"},
    {"sink", NOT_EMPTY, FIELD(sink), 0, 0, "the name of a sink"},
    {"repair", FLAG, FIELD(repair), 0, 0, NULL},
    {"yes", FLAG, FIELD(yes), 0, 0, NULL},
    {"reason", REASON, FIELD(reason), 0, 0, "at most 255 bytes of UTF-8"},
    {"rate", COUNT, FIELD(rate), 1, 9999999, "rows a second, 1 to 9999999"},
#undef FIELD
};
#define OPTIONS (sizeof options / sizeof *options)

/* Whether `name` is one of the words of the command's option list; all commands take --config. */
static bool takes(const struct command *command, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = command->options; *at != '\0';) {
        size_t word = strcspn(at, " ");

        if (word == len && memcmp(at, name, len) == 0)
            return true;
        at += word + strspn(at + word, " ");
    }
    return strcmp(name, options[0].name) == 0;
}

static bool complain(const struct command *command, const char *what, const char *value)
{
    (void)fprintf(stderr, "outbox-relay %s: %s%s%s%s\nusage: outbox-relay %s %s\n", command->name,
                  what, value != NULL ? " \"" : "", value != NULL ? value : "",
                  value != NULL ? "\"" : "", command->name, command->synopsis);
    return false;
}

static bool complain_of_option(const struct command *command, const char *option)
{
    struct text_nearest nearest = {.to = option + 2, .distance = 3};
    char what[64] = "unknown option";

    if (strncmp(option, "--", 2) == 0)
        for (size_t i = 0; i < OPTIONS; i++)
            if (takes(command, options[i].name))
                text_consider(&nearest, options[i].name);
    if (nearest.name != NULL)
        (void)snprintf(what, sizeof what, "did you mean \"--%s\"? Unknown option", nearest.name);
    return complain(command, what, option);
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

static bool set_value(const struct command *command, struct arguments *arguments, size_t option,
                      const char *value)
{
    void *field = (char *)arguments + options[option].offset;
    bool valid = true;
    int64_t number;
    char what[128];

    switch (options[option].kind) {
    case FLAG:
        *(bool *)field = true;
        break;
    case DURATION:
        number = text_parse_duration_ms(value);
        *(int64_t *)field = number;
        valid = number >= 0;
        break;
    case COUNT:
        number = parse_count(value);
        valid = number >= options[option].min && number <= options[option].max;
        *(int *)field = valid ? (int)number : 0;
        break;
    default:
        *(const char **)field = value;
        valid = is_valid(options[option].kind, value);
    }
    if (valid)
        return true;
    (void)snprintf(what, sizeof what, "--%s wants %s, not", options[option].name,
                   options[option].wants);
    return complain(command, what, value);
}

bool cli_is_utf8(const struct arguments *arguments)
{
    const char *const texts[] = {arguments->type,  arguments->topic, arguments->since,
                                 arguments->where, arguments->from,  arguments->to};
    bool valid = true;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        valid = valid && (texts[i] == NULL || text_is_utf8(texts[i], strlen(texts[i])));
    for (int i = 0; i < arguments->operand_count; i++)
        valid = valid && text_is_utf8(arguments->operands[i], strlen(arguments->operands[i]));
    return valid;
}

bool cli_parse(const struct command *command, int argc, char **argv, struct arguments *arguments)
{
    struct option known[OPTIONS + 1] = {0};
    int code;

    *arguments = (struct arguments){
        .older_than_ms = -1, .max_age_ms = -1, .max_backlog = -1, .max_dead = -1, .max_parked = -1};
    for (size_t i = 0; i < OPTIONS; i++)
        known[i] = (struct option){options[i].name,
                                   options[i].kind == FLAG ? no_argument : required_argument, NULL,
                                   CODES + (int)i};
    optind = 0; /* glibc: start afresh, permuting */
    opterr = 0;
    while ((code = getopt_long(argc, argv, ":c:", known, NULL)) != -1) {
        char letter[3] = {'-', (char)optopt, '\0'};
        const char *given = optopt > 0 && optopt < CODES ? letter : argv[optind - 1];
        size_t option = code >= CODES ? (size_t)(code - CODES) : 0; /* -c is the first */

        if (code == '?')
            return complain_of_option(command, given);
        if (code == ':')
            return complain(command, "a value is missing after", given);
        if (!takes(command, options[option].name))
            return complain(command, "option does not apply here:", options[option].name);
        if (!set_value(command, arguments, option, optarg))
            return false;
    }
    for (int i = optind; i < argc; i++) {
        if (arguments->operand_count == command->operands_max)
            return complain(command, "unexpected argument", argv[i]);
        arguments->operands[arguments->operand_count++] = argv[i];
    }
    return arguments->operand_count >= command->operands_min ||
           complain(command, "an argument is missing", NULL);
}
