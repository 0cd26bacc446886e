#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/*
 * What went wrong, whether waiting helps, and what the operator can do.
 * A function reports an error through this or logs it, never both.
 */

enum error_kind {
    ERROR_TRANSIENT, /* the other end is away or busy: try again after a delay */
    ERROR_PERMANENT, /* waiting does not mend it: schema, permission, option */
    ERROR_FATAL      /* this process cannot go on */
};

enum error_origin { ERROR_SELF, ERROR_CONFIG, ERROR_DATABASE, ERROR_BROKER };

struct error {
    enum error_kind kind;
    enum error_origin origin;
    char text[768];  /* one line, never empty once set */
    char hint[1024]; /* the SQL or command that mends it; "" when there is none */
};

/* Both return -1, so that `return error_set(...)` reads as a failure. */
int error_set(struct error *error, enum error_kind kind, enum error_origin origin,
              const char *format, ...) __attribute__((format(printf, 4, 5)));
int error_hint(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

int error_no_memory(struct error *error);

#endif
