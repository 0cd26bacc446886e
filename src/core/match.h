#ifndef CORE_MATCH_H
#define CORE_MATCH_H

#include "base/text.h"

#include <regex.h>

/*
 * A pattern on a topic: tokens parted by dots, `*` for exactly one token, `>` at the end for one or
 * more (docs.nats.io, "Subject-Based Messaging"); or "re:" and an extended regular expression
 * (POSIX.1-2017, 9.4) that must match somewhere.
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

#endif
