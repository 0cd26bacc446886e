#ifndef CONFIG_READ_TOML_H
#define CONFIG_READ_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Parses TOML 1.0 into a plain tree with positions. The parser is toml++, which only toml.cpp
 * includes. Strings and keys are UTF-8 without NUL; children are in file order.
 */

#ifdef __cplusplus
extern "C" {
#endif

enum toml_type {
    TOML_TABLE,
    TOML_ARRAY,
    TOML_STRING,
    TOML_INTEGER,
    TOML_FLOAT,
    TOML_BOOLEAN,
    TOML_DATE /* a date, a time or both; the value is not stored */
};

struct toml_node {
    enum toml_type type;
    int line; /* position of the key, the [header] or the array item; 1-based */
    int column;
    char *key;    /* owned; NULL for the root and in an array */
    char *string; /* owned; TOML_STRING only */
    int64_t integer;
    double real;
    bool boolean;
    bool refused;               /* a problem with the value has been reported */
    bool by_preset;             /* the preset says so, and not the file itself */
    struct toml_node *children; /* owned; items of a table or an array */
    int count;
};

struct toml_error {
    int line;
    int column;
    char text[256]; /* may quote keys and single characters, never a value */
};

/*
 * Checks a text before it is given to the TOML parser: at most CONFIG_FILE_BYTES_MAX, no NUL, valid
 * UTF-8, and nesting so shallow that recursion in the parser and its destructors cannot overflow
 * the stack.
 */

/* 0, or -1 with *error set; its line is 0 when the problem has no position. */
int guard_text(const char *text, size_t len, struct toml_error *error);

/* `text` must have passed guard_text. The caller frees the result with toml_free(). NULL with
 * *error set on failure. */
struct toml_node *toml_parse(const char *text, size_t len, struct toml_error *error);
void toml_free(struct toml_node *root);

/* The child with that key. NULL: there is none, or `table` is NULL or not a table. */
struct toml_node *toml_find(const struct toml_node *table, const char *key);
/* The same; the table when there is none. */
struct toml_node *toml_find_or_table(struct toml_node *table, const char *key);
/* Whether there is such a child and its value was refused. */
bool toml_is_refused(const struct toml_node *table, const char *key);

#ifdef __cplusplus
}
#endif

#endif
