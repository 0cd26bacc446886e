#include "route/match.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGEX_PREFIX "re:"
#define REPEAT_MAX 255 /* RE_DUP_MAX, and PostgreSQL's own limit */

static int check_tokens(const char *source, char *why, size_t why_size)
{
    for (const char *token = source; token != NULL;) {
        size_t len = strcspn(token, ".");

        if (len == 0) {
            (void)snprintf(why, why_size, "empty token");
            return -1;
        }
        if (len == 1 && *token == '>' && token[1] != '\0') {
            (void)snprintf(why, why_size, "\">\" is allowed only at the end");
            return -1;
        }
        token = token[len] == '.' ? token + len + 1 : NULL;
    }
    return 0;
}

/* Returns the position after the bracket expression. Other special characters mean nothing inside.
 */
static const char *skip_bracket(const char *at)
{
    at += at[1] == '^' ? 2 : 1;
    if (*at == ']')
        at++;
    while (*at != ']' && *at != '\0') {
        if (*at == '[' && at[1] != '\0' && strchr(".:=", at[1]) != NULL) {
            const char close[] = {at[1], ']', '\0'};
            const char *end = strstr(at + 2, close);

            at = end != NULL ? end + 1 : at;
        }
        at++;
    }
    return *at == ']' ? at + 1 : at;
}

/* Returns the position after the "}", or NULL when PostgreSQL would refuse the interval. */
static const char *skip_interval(const char *at)
{
    do {
        char *end;
        bool is_count = isdigit((unsigned char)at[1]) || (*at == ',' && at[1] == '}');

        if (!is_count || strtoul(at + 1, &end, 10) > REPEAT_MAX)
            return NULL;
        at = *at == ',' && at[1] == '}' ? at + 1 : end;
    } while (*at == ',');
    return *at == '}' ? at + 1 : NULL;
}

/* What POSIX leaves undefined (9.4.3, 9.4.6) differs between the C library and PostgreSQL. */
static const char *portability_problem(const char *at)
{
    while (*at != '\0') {
        const char *repeat = strchr("*+?{", *at);

        if (*at == '\\' && (isalnum((unsigned char)at[1]) || strchr("<>`'", at[1]) != NULL))
            return "a backslash is allowed only before a special character";
        if (*at == '\\')
            at += 2;
        else if (*at == '[')
            at = skip_bracket(at);
        else
            at = *at == '{' ? skip_interval(at) : at + 1;
        if (at == NULL)
            return "a repeat count must be {n}, {n,} or {n,m}, and at most 255";
        if (repeat != NULL && *at != '\0' && strchr("*+?{", *at) != NULL)
            return "a repetition of a repetition needs parentheses";
    }
    return NULL;
}

static int compile_regex(struct match *match, char *why, size_t why_size)
{
    const char *regex = match->source + strlen(REGEX_PREFIX);
    const char *problem = portability_problem(regex);
    int status;

    if (problem != NULL) {
        (void)snprintf(why, why_size, "%s", problem);
        return -1;
    }
    status = regcomp(&match->regex, regex, REG_EXTENDED | REG_NOSUB);
    if (status == 0)
        return 0;
    (void)regerror(status, &match->regex, why, why_size);
    return -1;
}

int match_parse(struct match *match, const char *source, char *why, size_t why_size)
{
    int status;

    *match = (struct match){.source = strdup(source)};
    if (match->source == NULL) {
        (void)snprintf(why, why_size, "out of memory");
        return -1;
    }
    if (strncmp(source, REGEX_PREFIX, strlen(REGEX_PREFIX)) == 0) {
        status = compile_regex(match, why, why_size);
        match->is_regex = status == 0;
    } else {
        status = check_tokens(source, why, why_size);
    }
    if (status < 0)
        match_free(match);
    return status;
}

void match_free(struct match *match)
{
    if (match->is_regex)
        regfree(&match->regex);
    free(match->source);
    *match = (struct match){0};
}

static size_t token_len(const char *data, const char *end)
{
    const char *dot = memchr(data, '.', (size_t)(end - data));

    return (size_t)((dot != NULL ? dot : end) - data);
}

static bool match_tokens(const char *pattern, struct text topic)
{
    const char *pattern_end = pattern + strlen(pattern);
    const char *at = topic.data;
    const char *end = topic.data + topic.len;

    for (;;) {
        size_t want = token_len(pattern, pattern_end);
        size_t have = token_len(at, end);

        if (want == 1 && *pattern == '>')
            return at < end;
        if (have == 0)
            return false;
        if (!(want == 1 && *pattern == '*') && (want != have || memcmp(pattern, at, want) != 0))
            return false;
        pattern += want;
        at += have;
        if (pattern == pattern_end || at == end)
            return pattern == pattern_end && at == end;
        pattern++;
        at++;
    }
}

bool match_topic(const struct match *match, struct text topic)
{
    char terminated[MATCH_BYTES_MAX + 1];

    if (topic.data == NULL)
        return false;
    if (!match->is_regex)
        return match_tokens(match->source, topic);
    if (topic.len > MATCH_BYTES_MAX || memchr(topic.data, '\0', topic.len) != NULL)
        return false;
    memcpy(terminated, topic.data, topic.len);
    terminated[topic.len] = '\0';
    return regexec(&match->regex, terminated, 0, NULL, 0) == 0;
}

bool match_any(const struct match *matches, int count, struct text topic)
{
    for (int i = 0; i < count; i++)
        if (match_topic(&matches[i], topic))
            return true;
    return false;
}

/* In PostgreSQL a backslash before anything but a letter or a digit makes it literal. */
static char *put_token(char *out, const char *token, size_t len)
{
    if (len == 1 && *token == '*')
        return stpcpy(out, "[^.]+");
    if (len == 1 && *token == '>')
        return stpcpy(out, ".+");
    for (size_t i = 0; i < len; i++) {
        if (ispunct((unsigned char)token[i]))
            *out++ = '\\';
        *out++ = token[i];
    }
    return out;
}

char *match_sql_regex(const struct match *match)
{
    const char *source = match->source + (match->is_regex ? strlen(REGEX_PREFIX) : 0);
    char *text = malloc(5 * strlen(source) + sizeof "(?e)");
    char *out = text;

    if (text == NULL)
        return NULL;
    if (match->is_regex) {
        (void)stpcpy(stpcpy(out, "(?e)"), source);
        return text;
    }
    *out++ = '^';
    for (const char *token = source; token != NULL;) {
        size_t len = strcspn(token, ".");

        out = put_token(out, token, len);
        token = token[len] == '.' ? token + len + 1 : NULL;
        if (token != NULL)
            out = stpcpy(out, "\\.");
    }
    (void)stpcpy(out, "$");
    return text;
}

static bool has_wildcard(const struct match *match)
{
    for (const char *token = match->source; *token != '\0' && !match->is_regex;) {
        size_t len = strcspn(token, ".");

        if (len == 1 && (*token == '*' || *token == '>'))
            return true;
        token += len + (token[len] == '.');
    }
    return false;
}

int match_topics_regex(const char *topic, char **regex)
{
    struct match match;
    char why[128];
    bool wild;

    *regex = NULL;
    if (match_parse(&match, topic, why, sizeof why) < 0)
        return 0;
    wild = has_wildcard(&match);
    if (wild)
        *regex = match_sql_regex(&match);
    match_free(&match);
    return wild && *regex == NULL ? -1 : 0;
}
