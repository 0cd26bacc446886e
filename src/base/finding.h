#ifndef BASE_FINDING_H
#define BASE_FINDING_H

#include <stddef.h>

/* A finding is one line of the report of `check`: an OK, a warning, or an error, which keeps the
 * relay from running. */

enum finding_level { FINDING_OK, FINDING_WARNING, FINDING_ERROR };

struct finding {
    enum finding_level level;
    char text[768];
    char fix[1024]; /* the exact SQL statement or command that fixes it; "" when there is none */
};

#define FINDINGS_MAX 256

struct findings {
    struct finding *items; /* owned */
    int count;
};

/* Returns 0, or -1 when there is no memory. */
int findings_init(struct findings *findings);
void findings_free(struct findings *findings);

/* Returns the new finding, so that the caller can add a fix. Beyond FINDINGS_MAX each new finding
 * replaces the last one. */
struct finding *findings_add(struct findings *findings, enum finding_level level,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Sets how it is fixed. */
void finding_fix(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
