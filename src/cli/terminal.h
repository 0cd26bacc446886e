#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "message/message.h"

#include <jansson.h>
#include <stdio.h>

/* How many columns a terminal takes for it. */
int terminal_width(const char *text);

/* The text so far as it fits these columns; what does not is cut, and marked with "...". Returns
 * `out`. `out` may be the text itself. */
char *terminal_fit(char *out, size_t size, const char *text, int columns);

/* Prints the text broken between words at these columns (0: not at all), with `indent` before each
 * further line, on at most so many lines; the last one is cut. */
void terminal_put_wrapped(FILE *out, int columns, const char *indent, int lines, const char *text);

/* The escape sequence that begins a colour on the terminal behind this descriptor, or ends it; ""
 * where it is none, $TERM is "dumb", or $NO_COLOR is set (no-color.org). */
enum terminal_colour { COLOUR_NONE, COLOUR_GOOD, COLOUR_DOUBTFUL, COLOUR_BAD };
const char *terminal_colour(int fd, enum terminal_colour colour);

/* How wide stdout's terminal is, by itself or by $COLUMNS; 0: no terminal. */
int terminal_columns(void);

/* Prints JSON as a line on stdout. Control characters (text_is_control) that JSON allows in a
 * string are escaped; outside of strings they do not occur. */
void terminal_print_json(struct text json);

/* A string, or {"hex": ...} when the bytes are no UTF-8 or have a NUL; null for NULL. NULL: no
 * memory. */
json_t *terminal_json(struct text text);
/* An object of them; of several with one name the last counts. NULL: no memory. */
json_t *terminal_json_headers(const struct header *headers, int count);

/* A line: the name, then the value, escaped and at most 4 KiB of it. */
void terminal_put(FILE *out, const char *name, struct text value);
void terminal_put_headers(FILE *out, const struct header *headers, int count);

/*
 * Shows the progress of a command on standard error: one line that is redrawn on a terminal, or a
 * log line from time to time.
 */

struct progress {
    const char *what; /* "replayed" */
    int64_t total;    /* -1: unknown */
    int64_t began_ms;
    int64_t shown_ms;
    int shown; /* lines or drawings so far */
};

void progress_begin(struct progress *progress, const char *what, int64_t total);
/* `left_ms`: how long the rest will take; -1: estimate it from the progress so far. */
void progress_show(struct progress *progress, int64_t done, int64_t left_ms);
/* Clears the drawn line. */
void progress_end(struct progress *progress);

#endif
