#ifndef DESK_SHOW_H
#define DESK_SHOW_H

#include "base/text.h"
#include "pg/session.h"

/* Prints rows on stdout; whatever comes from a row is escaped. */

enum show_as {
    SHOW_ROWS,   /* the names, then a line a row: tabs between them, or a table on a terminal */
    SHOW_RECORD, /* a value a line */
    SHOW_TEXT,   /* the first value */
    SHOW_TOML,   /* key, value and comment */
    SHOW_JSON    /* the first value, which is JSON */
};

#define SHOW_COLUMNS_MAX 32

struct show {
    enum show_as as;
    const char *outbox; /* its name in the configuration, for remedies */
    bool has_begun;
    int widths[SHOW_COLUMNS_MAX]; /* of a table, by its first rows */
};

/* The first rows of the result. */
void show_rows(struct show *show, const PGresult *result, int count);
void show_text(const char *text);
/* The text with the number in place of N, and with "(s)" as the number wants it. */
void show_count(struct text text, int64_t number);

/* -1: there is none of this name. */
int show_column(const PGresult *result, const char *name);
/* NULL: there is no such column or row, or it is NULL. */
const char *show_value(const PGresult *result, int row, const char *name);

#endif
