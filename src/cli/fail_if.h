#ifndef CLI_FAIL_IF_H
#define CLI_FAIL_IF_H

#include "admin/status/status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * --fail-if 'oldest>60s or dead>0 or relays<1': comparisons of a field with a number, or of an age
 * with a duration, joined by `and` and `or`; `and` binds closer.
 */

#define FAIL_IF_TERMS_MAX 16

struct fail_if_term {
    int field;      /* into the table of fields */
    char op[3];     /* < <= > >= = != */
    double value;   /* ages in seconds */
    char text[64];  /* as it was given, without blanks */
    bool begins_or; /* the terms before it and those from it on are alternatives */
};

struct fail_if {
    struct fail_if_term terms[FAIL_IF_TERMS_MAX];
    int count;
};

/* 0; -1: `why` says what is wrong, and names the fields when one is unknown. */
int fail_if_parse(struct fail_if *condition, const char *text, char *why, size_t size);

/* How many rows of a kind must be counted to decide it: one more than the largest number that a
 * count is compared with, INT_MAX at most. */
int fail_if_count_max(const struct fail_if *condition);

/* Whether it holds; `why` then says which alternative does, with the values. What is unknown
 * counts as 0: no row has no age, and no relay sends nothing. But rows of unknown age are older
 * than any. */
bool fail_if_holds(const struct fail_if *condition, const struct status *status, char *why,
                   size_t size);

#endif
