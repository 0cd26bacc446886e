#ifndef SQL_SQL_H
#define SQL_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Renders statements. A statement is a file src/ROOM/sql/NAME.sql, which the build embeds as the
 * text statement_NAME (sql/statements.h). It begins with a comment, which is not sent. In it
 * {fact} stands for a value and {if fact}...{else}...{end} for a variant, {if !fact} for the other
 * one; docs/internals/statements.md has the language. A file of src/sql/shared/ is put in by its
 * name. What comes from outside, such as names and conditions, is the value of a fact and never
 * searched for facts. The C code of this room knows no table.
 */

/* Statements are built in memory streams. A failed write is detected when the stream is closed. */
struct writer {
    FILE *out;
    char *text;
    size_t len;
};

static inline bool writer_begin(struct writer *writer)
{
    *writer = (struct writer){0};
    writer->out = open_memstream(&writer->text, &writer->len);
    return writer->out != NULL;
}

/* Returns the text; free() it. NULL: no memory. */
static inline char *writer_end(struct writer *writer)
{
    if (fclose(writer->out) == 0)
        return writer->text;
    free(writer->text);
    return NULL;
}

/* At most one of `text`, `put` and `put_named` is set; both functions write the value and return 0,
 * or -1 when there is no memory. */
struct sql_fact {
    const char *name;
    const char *text; /* the value */
    int (*put)(FILE *out, const void *about);
    int (*put_named)(FILE *out, const void *about, const struct sql_fact *fact);
    int column; /* for `put_named` */
};

/* For `is` of struct sql_facts. */
struct sql_truth {
    const char *name;
    bool is;
};

/* Whether the one of this name is true, 1 or 0; -1: it is not among them. */
int sql_truth(const struct sql_truth *all, size_t count, const char *name);

/* A fact of which `is` knows nothing is true if a list has it, else not. */
struct sql_facts {
    const char *names;           /* of facts that are true besides, divided by spaces, or NULL */
    const struct sql_fact *list; /* ends with a name of NULL; NULL: none */
    /* Whether the fact is true, 1 or 0; -1: it knows nothing of it. NULL: it knows of none. */
    int (*is)(const void *about, const char *name);
    const void *about;            /* what these facts are about */
    const struct sql_facts *more; /* facts of a lower room; NULL: none */
    /* Writes a parameter, {$name}, which only the topmost facts can. 0, or -1 as `put`. */
    int (*put_param)(FILE *out, const void *about, const char *name, size_t len);
};

/* The statement as it is sent; free() it. NULL: no memory, or an {if}, {else} or {end} stands
 * alone.
 */
char *sql_render(const char *statement, const struct sql_facts *facts);

/* Whether all of these hold, which are names divided by spaces: "by_slice !marking". */
bool sql_holds(const char *condition, const struct sql_facts *facts);
/* Whether the name is one of such names. */
bool sql_names(const char *names, const char *name);

/* The statement without its comment. */
const char *sql_body(const char *statement);

/* Whether statements give this name to something of their own beside a table's columns. Such names
 * begin with "relay_". */
bool sql_is_own_name(const char *name);

/* Appends a string literal, which does not depend on standard_conforming_strings. */
void sql_put_literal(FILE *out, const char *text);

#endif
