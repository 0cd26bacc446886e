#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

/*
 * An error says what went wrong, whether waiting helps, and what the operator can do. Anybody may
 * read its text and its hint: neither holds a value of a row but its id and its destination.
 * A function reports an error through this or logs it, never both.
 */

enum error_kind {
    ERROR_TRANSIENT, /* the server is unreachable or busy: try again after a delay */
    ERROR_PERMANENT, /* waiting does not help: a schema, a permission or an option is wrong */
    ERROR_FATAL      /* this process cannot continue */
};

enum error_origin { ERROR_SELF, ERROR_CONFIG, ERROR_DATABASE, ERROR_BROKER };

/* What a failure of the database is about, as far as callers treat the reasons differently. */
enum error_cause {
    ERROR_ANY,    /* none of these */
    ERROR_LOCKED, /* another session held a lock for too long */
    ERROR_CUT,    /* the server ended the connection, or refuses any while it starts or ends */
    ERROR_GONE,   /* a table, one of its columns, or its schema is not there */
    ERROR_OF_ROW  /* the values of a row, or a trigger */
};

struct error {
    enum error_kind kind;
    enum error_origin origin;
    enum error_cause cause;
    char text[768];     /* one line, never empty once set */
    char hint[1024];    /* how to fix it, such as an SQL statement or a command; "" when there is
                           nothing to say */
    bool needs_restart; /* of this process: waiting does not help, a new one could go on */
    bool is_unanswered; /* a server could not be reached, or ended the connection */
    bool is_schema;   /* the tables are not as the configuration says, until a person changes one */
    int position;     /* of a mistake in the SQL, in characters from 1; 0: none */
    char sqlstate[6]; /* the database's error code, for its own rooms; "" when there is none */
    char words[512];  /* the database's own words, which may hold values of a row: for the parked
                         table and whoever may read the row, never for a log; "": `text` has them */
};

/* Both return -1, so that `return error_set(...)` reads as a failure. */
int error_set(struct error *error, enum error_kind kind, enum error_origin origin,
              const char *format, ...) __attribute__((format(printf, 4, 5)));
int error_hint(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets `words`. */
void error_quote(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The text without the "database: " in front of it. */
const char *error_bare_text(const struct error *error);

/* Set is_schema, or is_unanswered. Return -1. */
int error_mark_schema(struct error *error);
int error_mark_unanswered(struct error *error);

int error_no_memory(struct error *error);

/* Whether the database's error code begins with `prefix`: a code, "55P03", or a class, "22". */
bool error_is_sqlstate(const struct error *error, const char *prefix);

#endif
