#ifndef SQL_SQL_H
#define SQL_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Renders statements. A statement is a file src/ROOM/sql/NAME.sql, which the build embeds as the
 * text statement_NAME (sql/statements.h). It begins with a comment, which is not sent. A word in
 * braces, such as {outbox} or {key_text:behind.key}, stands for what depends on the tables or the
 * configuration; docs/statements.md lists the words. Texts that come from outside, such as names
 * and conditions, are values of words and never searched for words. This room knows no table.
 */

struct sql_words;

/* A call of a word; `argument` is "" when it has none. */
struct sql_call {
    const void *about; /* that of the list of words */
    const char *word;
    const char *argument;
};

/* One of `text`, `choose` and `put` is set. A text may have words itself; in it {argument} is the
 * word's argument. */
struct sql_word {
    const char *name;
    const char *text;
    const char *(*choose)(const void *about); /* the text */
    int (*put)(FILE *out,
               const struct sql_call *call); /* returns 0, or -1 when there is no memory */
};

struct sql_words {
    const struct sql_word *list;  /* ends with a name of NULL */
    const void *about;            /* what the words of this list are about */
    const struct sql_words *more; /* the words of a lower room; NULL: none */
};

/* The statement as it is sent; free() it. NULL: no memory. A word that does not exist stays as it
 * is. */
char *sql_render(const char *statement, const struct sql_words *words);
/* Appends it. Returns 0, or -1 when there is no memory. */
int sql_put(FILE *out, const char *statement, const struct sql_words *words);

/* The statement without its comment. */
const char *sql_body(const char *statement);

/* Whether statements give this name to something of their own beside a table's columns. Such names
 * begin with "relay_". */
bool sql_is_own_name(const char *name);

/* Appends a string literal, which does not depend on standard_conforming_strings. */
void sql_put_literal(FILE *out, const char *text);

#endif
