#ifndef BASE_HINT_H
#define BASE_HINT_H

#include "base/text.h"

/* A line of config/hints.tsv; the last one has no `where`. */
extern const struct hint {
    const char *where, *words, *advice;
} embedded_hints[];

/* What to do about an error that is told at `where`: the advice of the first line whose words occur
 * in its text; "" when there is none. */
const char *hint_find(const char *where, struct text said);

#endif
