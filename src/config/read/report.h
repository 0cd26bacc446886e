#ifndef CONFIG_READ_REPORT_H
#define CONFIG_READ_REPORT_H

#include "config/read/toml.h"

/* The problems of a configuration file, as lines to print. */

#define CONFIG_PROBLEMS_MAX 64

/* "relay.toml:7:1: unknown key ..."; secrets never appear in one. */
struct config_problems {
    char *lines[CONFIG_PROBLEMS_MAX]; /* owned */
    int count;
    char *warnings[CONFIG_PROBLEMS_MAX]; /* owned; they do not make the configuration unusable */
    int warning_count;
};

void config_problems_free(struct config_problems *problems);

/* Collects problems in the order of discovery, and returns them in the order of the file. */

struct problem {
    int line; /* 0: the file as a whole */
    int column;
    char text[640];
};

struct problem_list {
    struct problem items[CONFIG_PROBLEMS_MAX];
    int count; /* of all problems; those beyond the limit are only counted */
};

struct problems {
    const char *name; /* the file's name */
    struct problem_list errors;
    struct problem_list warnings;
};

void report_at(struct problems *report, int line, int column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void report_problem(struct problems *report, const struct toml_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Like report_problem, and marks the node as refused, so that later checks ignore its value. */
void report_refusal(struct problems *report, struct toml_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_warning(struct problems *report, const struct toml_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes all problems as lines to `problems`. 0, or -1 when there is at least one error. */
int report_finish(struct problems *report, struct config_problems *problems);

#endif
