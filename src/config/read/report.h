#ifndef CONFIG_READ_REPORT_H
#define CONFIG_READ_REPORT_H

#include "config/read/problems.h"
#include "config/read/toml.h"

/* Collects what is wrong, in the order of discovery, and hands it out in the order of the file. */

struct problem {
    int line; /* 0: the file as a whole */
    int column;
    char text[640];
};

struct problem_list {
    struct problem items[CONFIG_PROBLEMS_MAX];
    int count; /* of all; those beyond the limit have no text */
};

struct report {
    const char *name; /* of the file */
    struct problem_list errors;
    struct problem_list warnings;
};

void report_at(struct report *report, int line, int column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void report_problem(struct report *report, const struct toml_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, and the node counts as refused: later checks leave its value alone. */
void report_refusal(struct report *report, struct toml_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_warning(struct report *report, const struct toml_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Renders everything into `problems`. 0, or -1 when there is an error. */
int report_finish(struct report *report, struct config_problems *problems);

#endif
