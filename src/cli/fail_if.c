#include "cli/fail_if.h"

#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count_away(const struct status *status)
{
    int away = 0;

    for (int i = 0; i < status->sink_count; i++)
        away += strcmp(status->sinks[i].state, "away") == 0;
    return away;
}

/* In the order in which docs/operating.md lists them. */
enum field {
    BACKLOG,
    OLDEST,
    PARKED,
    PARKED_OLDEST,
    DEAD,
    DEAD_OLDEST,
    RATE,
    RELAYS,
    LANES,
    SINKS_AWAY,
    ATTENTION,
    FIELD_COUNT
};

static const struct {
    const char *name;
    bool is_age;
} fields[FIELD_COUNT] = {
    [BACKLOG] = {"backlog", false},    [OLDEST] = {"oldest", true},
    [PARKED] = {"parked", false},      [PARKED_OLDEST] = {"parked_oldest", true},
    [DEAD] = {"dead", false},          [DEAD_OLDEST] = {"dead_oldest", true},
    [RATE] = {"rate", false},          [RELAYS] = {"relays", false},
    [LANES] = {"lanes", false},        [SINKS_AWAY] = {"sinks_away", false},
    [ATTENTION] = {"attention", false}};

static double value_of(const struct status *status, int field)
{
    const double values[FIELD_COUNT] = {[BACKLOG] = (double)status->backlog,
                                        [OLDEST] = status->oldest_s,
                                        [PARKED] = (double)status->parked,
                                        [PARKED_OLDEST] = status->parked_oldest_s,
                                        [DEAD] = (double)status->dead,
                                        [DEAD_OLDEST] = status->dead_oldest_s,
                                        [RATE] = status->per_s,
                                        [RELAYS] = (double)status->relays,
                                        [LANES] = (double)status->lanes,
                                        [SINKS_AWAY] = count_away(status),
                                        [ATTENTION] = status->attention.count};

    /* A condition on the age must not be silent because the table has no created_at. */
    if (field == OLDEST && status->backlog != 0 && status->backlog_oldest_s < 0)
        return HUGE_VAL;
    /* Nor because it could not be read. */
    if ((field == BACKLOG || field == PARKED || field == DEAD) && values[field] < 0)
        return HUGE_VAL;
    return values[field] > 0 ? values[field] : 0;
}

static void skip_blanks(const char **at)
{
    while (isspace((unsigned char)**at))
        (*at)++;
}

/* The next run of such characters. */
static struct text take(const char **at, const char *characters)
{
    struct text word = {*at, strspn(*at, characters)};

    *at += word.len;
    skip_blanks(at);
    return word;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyz_"

static int complain(char *why, size_t size, const char *what, const char *at)
{
    (void)snprintf(why, size, "%s%s%.40s%s", what, *at != '\0' ? " at \"" : "", at,
                   *at != '\0' ? "\"" : " at the end");
    return -1;
}

static int find_field(struct text name)
{
    for (int i = 0; i < FIELD_COUNT; i++)
        if (text_equal(name, text_of(fields[i].name)))
            return i;
    return -1;
}

static int complain_of_field(char *why, size_t size, struct text name)
{
    int len = snprintf(why, size, "unknown field \"%.*s\"; there are", (int)name.len, name.data);

    for (int i = 0; i < FIELD_COUNT && len > 0 && (size_t)len < size; i++)
        len += snprintf(why + len, size - (size_t)len, "%s %s", i > 0 ? "," : "", fields[i].name);
    return -1;
}

static int parse_value(struct fail_if_term *term, struct text word, char *why, size_t size)
{
    char value[32];
    char *end;

    (void)snprintf(value, sizeof value, "%.*s", (int)word.len, word.data);
    if (fields[term->field].is_age) {
        int64_t ms = text_parse_duration_ms(value);

        term->value = (double)ms / 1000;
        if (ms < 0)
            (void)snprintf(why, size,
                           "%s is an age: write a duration such as 60s, 5m or 2h, not"
                           " \"%s\"",
                           fields[term->field].name, value);
        return ms < 0 ? -1 : 0;
    }
    term->value = strtod(value, &end);
    if (word.len < sizeof value && *end == '\0' && strspn(value, "0123456789.") == word.len)
        return 0;
    (void)snprintf(why, size, "%s is a number, \"%s\" is not", fields[term->field].name, value);
    return -1;
}

static int parse_term(struct fail_if_term *term, const char **at, char *why, size_t size)
{
    static const char *const ops[] = {"<", "<=", ">", ">=", "=", "!=", NULL};
    struct text name = take(at, LETTERS);
    struct text op;
    struct text value;
    int known = 0;

    if (name.len == 0)
        return complain(why, size, "a field is missing", *at);
    term->field = find_field(name);
    if (term->field < 0)
        return complain_of_field(why, size, name);
    op = take(at, "<>=!");
    while (ops[known] != NULL && !text_equal(op, text_of(ops[known])))
        known++;
    if (ops[known] == NULL)
        return complain(why, size, "one of < <= > >= = != is missing", op.data);
    value = take(at, "0123456789." LETTERS);
    if (value.len == 0)
        return complain(why, size, "a value is missing", *at);
    (void)snprintf(term->op, sizeof term->op, "%s", ops[known]);
    (void)snprintf(term->text, sizeof term->text, "%s%s%.*s", fields[term->field].name, ops[known],
                   (int)value.len, value.data);
    return parse_value(term, value, why, size);
}

int fail_if_parse(struct fail_if *condition, const char *text, char *why, size_t size)
{
    const char *at = text;
    bool begins_or = false;

    *condition = (struct fail_if){0};
    skip_blanks(&at);
    for (;;) {
        struct fail_if_term *term = &condition->terms[condition->count];
        struct text joint;

        if (condition->count == FAIL_IF_TERMS_MAX)
            return complain(why, size, "it has too many comparisons", at);
        if (parse_term(term, &at, why, size) < 0)
            return -1;
        term->begins_or = begins_or;
        condition->count++;
        if (*at == '\0')
            return 0;
        joint = take(&at, LETTERS);
        begins_or = text_equal(joint, text_of("or"));
        if (!begins_or && !text_equal(joint, text_of("and")))
            return complain(why, size, "`and` or `or` is missing", joint.data);
    }
}

static bool holds(const struct fail_if_term *term, double value)
{
    bool equal = value >= term->value && value <= term->value;

    if (strcmp(term->op, "=") == 0)
        return equal;
    if (strcmp(term->op, "!=") == 0)
        return !equal;
    if (equal)
        return term->op[1] == '=';
    return term->op[0] == '<' ? value < term->value : value > term->value;
}

int fail_if_count_max(const struct fail_if *condition)
{
    double most = 0;

    for (int i = 0; i < condition->count; i++) {
        const struct fail_if_term *term = &condition->terms[i];

        if ((term->field == BACKLOG || term->field == PARKED || term->field == DEAD) &&
            term->value > most)
            most = term->value;
    }
    return most < INT_MAX - 1 ? (int)most + 1 : INT_MAX;
}

static bool is_bound(const struct status *status, int field)
{
    return (field == BACKLOG && status->backlog_is_bound) ||
           (field == PARKED && status->parked_is_bound) || (field == DEAD && status->dead_is_bound);
}

static void explain(const struct fail_if *condition, const struct status *status, int first,
                    char *why, size_t size)
{
    int len = 0;

    for (int i = first; i < condition->count && (i == first || !condition->terms[i].begins_or);
         i++) {
        const struct fail_if_term *term = &condition->terms[i];
        double value;

        if (len < 0 || (size_t)len >= size)
            return;
        value = value_of(status, term->field);
        len += snprintf(why + len, size - (size_t)len, "%s%s: %s is ", i > first ? ", " : "",
                        term->text, fields[term->field].name);
        if (len < 0 || (size_t)len >= size)
            return;
        if (value >= HUGE_VAL)
            len += snprintf(why + len, size - (size_t)len, "unknown");
        else
            len += snprintf(why + len, size - (size_t)len, "%.*f%s",
                            fields[term->field].is_age || term->field == RATE ? 1 : 0, value,
                            fields[term->field].is_age      ? " s"
                            : is_bound(status, term->field) ? " or more"
                                                            : "");
    }
}

bool fail_if_holds(const struct fail_if *condition, const struct status *status, char *why,
                   size_t size)
{
    int first = 0;
    bool all = true;

    for (int i = 0; i < condition->count; i++) {
        const struct fail_if_term *term = &condition->terms[i];

        if (term->begins_or) {
            if (all)
                break;
            first = i;
            all = true;
        }
        all = all && holds(term, value_of(status, term->field));
    }
    if (all)
        explain(condition, status, first, why, size);
    return all;
}
