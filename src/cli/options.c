#include "cli/cli.h"

#include "base/text.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_MAX 255 /* bytes */

enum option_code {
    OPTION_CONFIG = 'c',
    OPTION_DRAIN = 256,
    OPTION_PRINT,
    OPTION_GRANT,
    OPTION_NOTIFY,
    OPTION_JSON,
    OPTION_WATCH,
    OPTION_LANES,
    OPTION_MAX_AGE,
    OPTION_MAX_BACKLOG,
    OPTION_MAX_DEAD,
    OPTION_MAX_PARKED,
    OPTION_LIMIT,
    OPTION_LIST,
    OPTION_TYPE,
    OPTION_OLDER_THAN,
    OPTION_DRY_RUN,
    OPTION_DEFAULTS,
    OPTION_ALL,
    OPTION_TOPIC,
    OPTION_SINCE,
    OPTION_REASON,
    OPTION_RATE
};

static const struct option options[] = {
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"drain", no_argument, NULL, OPTION_DRAIN},
    {"print", no_argument, NULL, OPTION_PRINT},
    {"grant", required_argument, NULL, OPTION_GRANT},
    {"notify", no_argument, NULL, OPTION_NOTIFY},
    {"json", no_argument, NULL, OPTION_JSON},
    {"watch", no_argument, NULL, OPTION_WATCH},
    {"lanes", no_argument, NULL, OPTION_LANES},
    {"max-age", required_argument, NULL, OPTION_MAX_AGE},
    {"max-backlog", required_argument, NULL, OPTION_MAX_BACKLOG},
    {"max-dead", required_argument, NULL, OPTION_MAX_DEAD},
    {"max-parked", required_argument, NULL, OPTION_MAX_PARKED},
    {"list", no_argument, NULL, OPTION_LIST},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {"type", required_argument, NULL, OPTION_TYPE},
    {"older-than", required_argument, NULL, OPTION_OLDER_THAN},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"defaults", no_argument, NULL, OPTION_DEFAULTS},
    {"all", no_argument, NULL, OPTION_ALL},
    {"topic", required_argument, NULL, OPTION_TOPIC},
    {"since", required_argument, NULL, OPTION_SINCE},
    {"reason", required_argument, NULL, OPTION_REASON},
    {"rate", required_argument, NULL, OPTION_RATE},
    {NULL, 0, NULL, 0}};

static const char *option_name(int code)
{
    for (const struct option *option = options; option->name != NULL; option++)
        if (option->val == code)
            return option->name;
    return "";
}

/* Whether `name` is one of the words of the command's option list. */
static bool takes(const struct command *command, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = command->options; *at != '\0';) {
        size_t word = strcspn(at, " ");

        if (word == len && memcmp(at, name, len) == 0)
            return true;
        at += word + strspn(at + word, " ");
    }
    return false;
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
        for (const struct option *other = options; other->name != NULL; other++)
            if (other->val == OPTION_CONFIG || takes(command, other->name))
                text_consider(&nearest, other->name);
    if (nearest.name != NULL)
        (void)snprintf(what, sizeof what, "did you mean \"--%s\"? Unknown option", nearest.name);
    return complain(command, what, option);
}

static bool apply_flag(struct arguments *arguments, int code)
{
    switch (code) {
    case OPTION_DRAIN:
        return arguments->drain = true;
    case OPTION_PRINT:
        return arguments->print = true;
    case OPTION_NOTIFY:
        return arguments->notify = true;
    case OPTION_JSON:
        return arguments->json = true;
    case OPTION_WATCH:
        return arguments->watch = true;
    case OPTION_LANES:
        return arguments->lanes = true;
    case OPTION_LIST:
        return arguments->list = true;
    case OPTION_DRY_RUN:
        return arguments->dry_run = true;
    case OPTION_DEFAULTS:
        return arguments->defaults = true;
    default:
        return arguments->all = true;
    }
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

/* 0: it is none. */
static int parse_limit(const char *value)
{
    char *end;
    long limit = strtol(value, &end, 10);

    return value[0] >= '0' && value[0] <= '9' && *end == '\0' && limit <= INT_MAX ? (int)limit : 0;
}

/* A number of rows of which one more can be counted. */
static bool parse_rows(const struct command *command, int code, const char *value, int *rows)
{
    char what[64];

    *rows = strspn(value, "0123456789") == strlen(value) && strlen(value) < 10
                ? (int)strtol(value, NULL, 10)
                : -1;
    if (*rows >= 0 && value[0] != '\0')
        return true;
    (void)snprintf(what, sizeof what, "--%s wants a number of rows, not", option_name(code));
    return complain(command, what, value);
}

static bool apply_value(const struct command *command, struct arguments *arguments, int code,
                        const char *value)
{
    switch (code) {
    case OPTION_CONFIG:
        arguments->config = value;
        return true;
    case OPTION_GRANT:
        arguments->grant = value;
        return value[0] != '\0' || complain(command, "--grant wants a role, not", value);
    case OPTION_TYPE:
        arguments->type = value;
        return true;
    case OPTION_TOPIC:
        arguments->topic = value;
        return true;
    case OPTION_RATE:
        arguments->rate = strspn(value, "0123456789") == strlen(value) && strlen(value) < 8
                              ? strtoll(value, NULL, 10)
                              : 0;
        return arguments->rate > 0 ||
               complain(command, "--rate wants rows a second, 1 to 9999999, not", value);
    case OPTION_REASON:
        arguments->reason = value;
        return (strlen(value) <= REASON_MAX && text_is_utf8(value, strlen(value))) ||
               complain(command, "--reason wants at most 255 bytes of UTF-8, not", value);
    case OPTION_MAX_AGE:
        arguments->max_age_ms = text_parse_duration_ms(value);
        return arguments->max_age_ms >= 0 ||
               complain(command, "--max-age wants a duration such as 60s or 5m, not", value);
    case OPTION_MAX_BACKLOG:
        return parse_rows(command, code, value, &arguments->max_backlog);
    case OPTION_MAX_DEAD:
        return parse_rows(command, code, value, &arguments->max_dead);
    case OPTION_MAX_PARKED:
        return parse_rows(command, code, value, &arguments->max_parked);
    case OPTION_LIMIT:
        arguments->limit = parse_limit(value);
        return arguments->limit > 0 ||
               complain(command, "--limit wants a number of rows from 1 on, not", value);
    case OPTION_SINCE:
        arguments->since = value;
        return is_moment(value) || complain(command,
                                            "--since wants a duration such as 2h, or a time such as"
                                            " \"2026-01-31 22:15\", not",
                                            value);
    default:
        arguments->older_than_ms = text_parse_duration_ms(value);
        return arguments->older_than_ms >= 0 ||
               complain(command, "--older-than wants a duration such as 12h or 7d, not", value);
    }
}

static bool apply(const struct command *command, struct arguments *arguments, int code,
                  const char *value)
{
    if (code == '?')
        return complain_of_option(command, value);
    if (code == ':')
        return complain(command, "a value is missing after", value);
    if (code != OPTION_CONFIG && !takes(command, option_name(code)))
        return complain(command, "option does not apply here:", option_name(code));
    return value != NULL ? apply_value(command, arguments, code, value)
                         : apply_flag(arguments, code);
}

static bool take_operands(const struct command *command, int argc, char **argv,
                          struct arguments *arguments)
{
    for (int i = optind; i < argc; i++) {
        if (arguments->operand_count == command->operands_max)
            return complain(command, "unexpected argument", argv[i]);
        arguments->operands[arguments->operand_count++] = argv[i];
    }
    if (arguments->operand_count < command->operands_min)
        return complain(command, "an argument is missing", NULL);
    return true;
}

bool cli_parse(const struct command *command, int argc, char **argv, struct arguments *arguments)
{
    int code;

    *arguments = (struct arguments){
        .older_than_ms = -1, .max_age_ms = -1, .max_backlog = -1, .max_dead = -1, .max_parked = -1};
    optind = 0; /* glibc: start afresh, permuting */
    opterr = 0;
    while ((code = getopt_long(argc, argv, ":c:", options, NULL)) != -1) {
        char letter[3] = {'-', (char)optopt, '\0'};
        const char *value = code != '?' && code != ':'   ? optarg
                            : optopt > 0 && optopt < 256 ? letter
                                                         : argv[optind - 1];

        if (!apply(command, arguments, code, value))
            return false;
    }
    return take_operands(command, argc, argv, arguments);
}
