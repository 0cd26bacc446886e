#ifndef ADMIN_STATUS_RELAYS_H
#define ADMIN_STATUS_RELAYS_H

#include "admin/admin_session.h"

#include <jansson.h>

/*
 * status, the relays' part. Each relay answers by a notification (catalog/questions.h), whose
 * payload source/answer.h describes.
 */

/* Finds the processes by their sessions, asks them, waits so long for their answers (0: they are
 * not asked), and adds to the document what the section of relays makes of it. 0, or -1 with *error
 * set. */
int relays_read(struct admin *admin, json_t *document, int wait_ms, struct error *error);

#endif
