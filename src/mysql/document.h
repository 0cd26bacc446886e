#ifndef MYSQL_DOCUMENT_H
#define MYSQL_DOCUMENT_H

#include "mysql/admin.h"

#include <jansson.h>

/* The document of source/status.h. Shared by the files that make and show it.
 *
 * A column's name is that of a field: numbers become numbers, other values texts, and NULL is null.
 */

/* The fields of the only row, added to the object. 0, or -1 with *error set. */
int document_row(struct admin *admin, json_t *into, const char *statement,
                 const struct sql_fact *facts, struct error *error);
/* A list of such objects, a row each. NULL with *error set. */
json_t *document_rows(struct admin *admin, const char *statement, const struct sql_fact *facts,
                      struct error *error);
/* The value of a field: -1 where it is no number, "" where it is no text. */
double document_number(const json_t *document, const char *name);
const char *document_text(const json_t *object, const char *name);
/* Adds to the document's attention. `fix`: "": there is none. */
void document_need(json_t *document, const char *level, const char *fix, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds what the relays have said of themselves. 0, or -1 with *error set. */
int document_relays(struct admin *admin, json_t *document, struct error *error);
/* Adds what needs somebody. */
void document_attention(json_t *document);

#endif
