#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "base/text.h"

/*
 * The text as it is when a terminal can show it without obeying it (UTF-8 without control
 * characters; with `lines`, newlines and tabs are fine), escaped by text_escape() otherwise. What
 * does not fit is cut, and marked with "...". Returns `out`.
 */
char *terminal_text(char *out, size_t size, struct text text, bool lines);

/* How many columns a terminal takes for it. */
int terminal_width(const char *text);

/* The text so far as it fits these columns; what does not is cut, and marked with "...". Returns
 * `out`. `out` may be the text itself. */
char *terminal_fit(char *out, size_t size, const char *text, int columns);

/* How wide stdout's terminal is, by itself or by $COLUMNS, and how high; 0: no terminal. */
int terminal_columns(void);
int terminal_lines(void);

/* A line on stdout. JSON leaves DEL and U+0080 to U+009F as they are, which terminals obey; they
 * stand in its strings only, where they can be escaped. */
void terminal_print_json(struct text json);

#endif
