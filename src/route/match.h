#ifndef ROUTE_MATCH_H
#define ROUTE_MATCH_H

#include "base/text.h"

#include <regex.h>

/*
 * A pattern for topics: tokens separated by dots, `*` for exactly one token, `>` at the end for one
 * or more (docs.nats.io, "Subject-Based Messaging"); or "re:" and an extended regular expression
 * (POSIX.1-2017, 9.4), which may match any part of the topic. What POSIX leaves undefined is
 * refused, because PostgreSQL evaluates the same pattern.
 */
#define MATCH_BYTES_MAX 1024 /* a longer topic matches no regular expression */

struct match {
    char *source; /* owned */
    bool is_regex;
    regex_t regex;
};

/* 0, or -1 with a message in `why`. */
int match_parse(struct match *match, const char *source, char *why, size_t why_size);
void match_free(struct match *match);

bool match_topic(const struct match *match, struct text topic);
/* Whether one of them does. */
bool match_any(const struct match *matches, int count, struct text topic);

/* The same pattern for PostgreSQL's ~ operator: tokens become a regular expression, and a user's
 * expression gets the option "(?e)", which selects extended syntax (manual, 9.7.3.4). free() it.
 * NULL: no memory. */
char *match_sql_regex(const struct match *match);
/* The same for a topic that may have wildcards; *regex is NULL when it has none and is a plain
 * topic. 0, or -1: out of memory. */
int match_topics_regex(const char *topic, char **regex);

#endif
