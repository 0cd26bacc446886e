#ifndef ROUTE_MATCH_H
#define ROUTE_MATCH_H

#include "base/text.h"

#include <regex.h>

/*
 * A pattern on a topic: tokens parted by dots, `*` for exactly one token, `>` at the end for one or
 * more (docs.nats.io, "Subject-Based Messaging"); or "re:" and an extended regular expression
 * (POSIX.1-2017, 9.4) that must match somewhere. What POSIX leaves undefined is refused: the same
 * pattern goes to PostgreSQL too.
 */
struct match {
    char *source; /* owned */
    bool is_regex;
    regex_t regex;
};

/* 0, or -1 with a message in `why`. */
int match_parse(struct match *match, const char *source, char *why, size_t why_size);
void match_free(struct match *match);

bool match_topic(const struct match *match, struct text topic);

/* The same pattern for PostgreSQL's ~ operator (manual, 9.7.3.4): an escaped copy, or the user's
 * own extended regular expression with the option that keeps it one. free() it. NULL: no memory. */
char *match_sql_regex(const struct match *match);

#endif
