#ifndef BASE_FINDING_H
#define BASE_FINDING_H

#include <stddef.h>

/* What `check` says of one thing: fine, weaker than it should be, or in the way of relaying. */

enum finding_level { FINDING_OK, FINDING_WARNING, FINDING_ERROR };

struct finding {
    enum finding_level level;
    char text[768];
    char fix[1024]; /* the exact SQL or command; "" when there is none */
};

#define FINDINGS_MAX 256

struct findings {
    struct finding *items; /* owned */
    int count;
};

/* 0; -1: no memory. */
int findings_init(struct findings *findings);
void findings_free(struct findings *findings);

/* Past FINDINGS_MAX the last one is replaced. Returns it, so that a fix can be added. */
struct finding *findings_add(struct findings *findings, enum finding_level level,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
