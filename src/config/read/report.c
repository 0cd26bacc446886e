#include "config/read/report.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 512

void report_add(struct problem_list *list, int line, int column, const char *format, ...)
{
    struct problem *problem;
    va_list args;

    if (list->count++ >= CONFIG_PROBLEMS_MAX)
        return;
    problem = &list->items[list->count - 1];
    problem->line = line;
    problem->column = column;
    va_start(args, format);
    text_vformat(problem->text, sizeof problem->text, format, args);
    va_end(args);
}

/* Insertion keeps the order of discovery where positions are equal; the list is short. */
static void sort_by_position(struct problem_list *list, int count)
{
    for (int i = 1; i < count; i++) {
        struct problem moved = list->items[i];
        int at = i;

        for (; at > 0; at--) {
            const struct problem *before = &list->items[at - 1];

            if (before->line != moved.line ? before->line < moved.line
                                           : before->column <= moved.column)
                break;
            list->items[at] = *before;
        }
        list->items[at] = moved;
    }
}

static char *render_line(const char *name, const struct problem *problem)
{
    char escaped[NAME_BYTES_MAX];
    char *line = NULL;
    int len;

    text_escape(escaped, sizeof escaped, name, strlen(name));
    if (problem->line == 0)
        len = asprintf(&line, "%s: %s", escaped, problem->text);
    else
        len =
            asprintf(&line, "%s:%d:%d: %s", escaped, problem->line, problem->column, problem->text);
    return len < 0 ? NULL : line;
}

static int render_list(const char *name, struct problem_list *list, char **lines)
{
    int count = list->count < CONFIG_PROBLEMS_MAX ? list->count : CONFIG_PROBLEMS_MAX;
    int rendered = 0;

    sort_by_position(list, count);
    if (list->count > count) {
        struct problem *last = &list->items[count - 1];

        last->line = 0;
        (void)snprintf(last->text, sizeof last->text, "and %d more problem%s",
                       list->count - count + 1, PLURAL(list->count - count + 1));
    }
    for (int i = 0; i < count; i++) {
        lines[rendered] = render_line(name, &list->items[i]);
        if (lines[rendered] != NULL)
            rendered++;
    }
    return rendered;
}

int report_finish(struct problems *report, struct config_problems *problems)
{
    problems->count = render_list(report->name, &report->errors, problems->lines);
    problems->warning_count = render_list(report->name, &report->warnings, problems->warnings);
    return report->errors.count > 0 ? -1 : 0;
}

void config_problems_free(struct config_problems *problems)
{
    for (int i = 0; i < problems->count; i++)
        free(problems->lines[i]);
    for (int i = 0; i < problems->warning_count; i++)
        free(problems->warnings[i]);
    *problems = (struct config_problems){0};
}
