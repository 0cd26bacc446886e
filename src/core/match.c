#include "core/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGEX_PREFIX "re:"
#define TOPIC_BYTES_MAX 1024 /* what a regular expression is shown; longer topics match none */

static int check_tokens(const char *source, char *why, size_t why_size)
{
    for (const char *token = source; token != NULL;) {
        size_t len = strcspn(token, ".");

        if (len == 0) {
            (void)snprintf(why, why_size, "empty token");
            return -1;
        }
        if (len == 1 && *token == '>' && token[1] != '\0') {
            (void)snprintf(why, why_size, "\">\" stands only at the end");
            return -1;
        }
        token = token[len] == '.' ? token + len + 1 : NULL;
    }
    return 0;
}

static int compile_regex(struct match *match, char *why, size_t why_size)
{
    int status =
        regcomp(&match->regex, match->source + strlen(REGEX_PREFIX), REG_EXTENDED | REG_NOSUB);

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

static bool match_regex(const struct match *match, struct text topic)
{
    char terminated[TOPIC_BYTES_MAX + 1];

    if (topic.len > TOPIC_BYTES_MAX || memchr(topic.data, '\0', topic.len) != NULL)
        return false;
    memcpy(terminated, topic.data, topic.len);
    terminated[topic.len] = '\0';
    return regexec(&match->regex, terminated, 0, NULL, 0) == 0;
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
    if (topic.data == NULL)
        return false;
    return match->is_regex ? match_regex(match, topic) : match_tokens(match->source, topic);
}
