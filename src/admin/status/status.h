#ifndef ADMIN_STATUS_STATUS_H
#define ADMIN_STATUS_STATUS_H

#include "admin/admin.h"
#include "pg/session.h"
#include "source/fingerprint.h"
#include "source/status.h"

/*
 * The document of source/status.h is the work of sections, the files of admin/status/sql/. Each
 * gets the document so far as its only parameter. Those that are used for "figures" and "storage"
 * return an object, which is added; those for "attention", and for "answers" where relays were
 * asked, return findings, a row each. Each section runs alone, so that one that PostgreSQL refuses
 * hides no other. Its head says what the section is called, and which fields the document has
 * without it.
 */

/* The document as lines, of which status_text.sql says what is in them; the limits that it exceeds,
 * by status_limits.sql. PQclear() what they return. NULL with *error set. */
PGresult *admin_status_text(struct admin *admin, const json_t *document, struct error *error);
PGresult *admin_status_limits(struct admin *admin, const json_t *document, struct error *error);
/* Asks the relays alone, and compares a configuration with theirs: in findings. 0, or -1 with
 * *error set. */
int admin_compare_relays(struct admin *admin, const struct fingerprint *own, const char *name,
                         int wait_ms, struct findings *findings, struct error *error);

#endif
