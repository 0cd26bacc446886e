#ifndef ADMIN_STATUS_RELAYS_H
#define ADMIN_STATUS_RELAYS_H

#include "admin/admin_session.h"

#include <jansson.h>

/*
 * status, the relays' part. Each relay answers with JSON in ASCII, so that it works in a database
 * of any encoding, as the payload of a notification (relay/status_replies.h writes it):
 * {"table": OID, "version": TEXT, "since": MS, "sent": N, "parked": N, "dead": N, "rate": PER_S,
 *  "unsent_from": ID, "sent_at": MS, "config": FINGERPRINT (fingerprint.h),
 *  "troubles": [{"lanes": TEXT, "error": TEXT, "fix": TEXT, "since": MS, "failures": N,
 *  "of_broker": BOOLEAN}], "sinks": [{"name": TEXT, "state": TEXT, "since": MS, "error": TEXT,
 *  "order": TEXT}], "lanes": [[NUMBER, STATE, FOR_MS, CLAIM_FOR_MS]]}
 */

/* The channel of questions. The payload of a question is a token; the answer goes to the channel
 * named after it. */
#define STATUS_CHANNEL "outbox_relay_status"
#define STATUS_ANSWER_CHANNEL "outbox_relay_answer_"
#define STATUS_TOKEN_BYTES 33    /* 32 hexadecimal digits and a NUL */
#define STATUS_ANSWER_BYTES 8000 /* PostgreSQL's limit of a payload, with a NUL */

/* Finds the processes by their sessions, asks them, waits so long for their answers (0: they are
 * not asked), and adds to the document what the section of relays makes of it. 0, or -1 with *error
 * set. */
int relays_read(struct admin *admin, json_t *document, int wait_ms, struct error *error);

#endif
