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

void report_add(struct problem_list *list, int line, int column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* An error at a position; at a node; and at a node whose value later checks are to ignore. */
#define report_at(report, line, column, ...)                                                       \
    report_add(&(report)->errors, line, column, __VA_ARGS__)
#define report_problem(report, node, ...)                                                          \
    report_at(report, (node)->line, (node)->column, __VA_ARGS__)
#define report_refusal(report, node, ...)                                                          \
    ((node)->refused = true, report_problem(report, node, __VA_ARGS__))
#define report_warning(report, node, ...)                                                          \
    report_add(&(report)->warnings, (node)->line, (node)->column, __VA_ARGS__)

/* Writes all problems as lines to `problems`. 0, or -1 when there is at least one error. */
int report_finish(struct problems *report, struct config_problems *problems);

#endif
