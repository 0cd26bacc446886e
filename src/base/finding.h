#ifndef BASE_FINDING_H
#define BASE_FINDING_H

#include "base/error.h"

#include <stdbool.h>

/* A finding is one line of the report of `check`: an OK, a note, which asks nothing of anybody, a
 * warning, or an error, which keeps the relay from running. */

enum finding_level { FINDING_OK, FINDING_NOTE, FINDING_WARNING, FINDING_ERROR };
#define FINDING_LEVELS 4

/* As people, JSON and the sections of `check` have it. */
extern const char *const finding_level_names[FINDING_LEVELS];

struct finding {
    enum finding_level level;
    char text[768];
    char fix[1024]; /* the exact SQL statement or command that fixes it; "" when there is none */
    bool is_schema; /* of the error that it is (error.h) */
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
/* Adds what the error says, with its hint as the fix. */
void findings_add_error(struct findings *findings, const struct error *error);
/* Sets how it is fixed. */
void finding_fix(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* NULL: there is none. */
const struct finding *findings_first_error(const struct findings *findings);
bool findings_have_error(const struct findings *findings);
/* Returns 0; or -1 with *error set to the first error among them, as a permanent one of the
 * database. Frees them. */
int findings_end(struct findings *findings, struct error *error);

#endif
