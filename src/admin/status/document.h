#ifndef ADMIN_STATUS_DOCUMENT_H
#define ADMIN_STATUS_DOCUMENT_H

#include "admin/admin_session.h"

#include <jansson.h>

/* The sections of status (status.h). Shared by the files of this folder. */

/* The statement of a section as it is sent with this document; PQclear() it. NULL with *error set.
 */
PGresult *document_ask(struct admin *admin, const json_t *document, const char *section,
                       const char *facts, struct error *error);
/* Adds to `into`, which may be the document itself, what the section returns, or to the document's
 * attention that PostgreSQL refused it. 0, or -1 with *error set when the connection is lost. */
int document_run(struct admin *admin, json_t *document, json_t *into, const char *section,
                 const char *facts, struct error *error);
/* The same for all sections of this use. */
int document_run_all(struct admin *admin, json_t *document, json_t *into, const char *use,
                     struct error *error);
/* Adds that this figure could not be read, with *error. 0, or -1 when the connection is lost. */
int document_note_unknown(const struct admin *admin, json_t *document, const char *figure,
                          const struct error *error);
/* Adds to the document's attention. `fix`: NULL or "": there is none. */
void document_need(json_t *document, const char *level, const char *text, const char *fix);

#endif
