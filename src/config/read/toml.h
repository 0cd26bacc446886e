#ifndef CONFIG_READ_TOML_H
#define CONFIG_READ_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * TOML 1.0 text -> a plain tree with positions. The parser behind it is toml++, and toml.cpp is the
 * only file that knows. Strings and keys are UTF-8 without NUL; children stand in file order.
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
    TOML_DATE /* a date, a time or both; its value is not kept */
};

struct toml_node {
    enum toml_type type;
    int line; /* of the key, of the [header], or of an array's value; 1-based */
    int column;
    char *key;    /* owned; NULL for the root and in an array */
    char *string; /* owned; TOML_STRING only */
    int64_t integer;
    double real;
    bool boolean;
    bool refused;               /* set by whoever reported a problem with the value */
    struct toml_node *children; /* owned; of a table or an array */
    int count;
};

struct toml_error {
    int line;
    int column;
    char text[256]; /* may quote keys and single characters, never a value */
};

/* `text` has passed guard_text. NULL with *error set; toml_free() the result. */
struct toml_node *toml_parse(const char *text, size_t len, struct toml_error *error);
void toml_free(struct toml_node *root);

/* The child of that key; NULL when there is none, or `table` is NULL or no table. */
struct toml_node *toml_find(const struct toml_node *table, const char *key);

#ifdef __cplusplus
}
#endif

#endif
