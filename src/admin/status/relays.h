#ifndef ADMIN_STATUS_RELAYS_H
#define ADMIN_STATUS_RELAYS_H

#include "admin/admin_session.h"
#include "admin/status/status.h"

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

struct asking {
    struct admin *admin;
    struct status *status;
    int pids[STATUS_RELAYS_MAX]; /* the backend that may answer for each process; 0: none */
    bool of_another_table[STATUS_RELAYS_MAX]; /* as it says */
    int left;                                 /* answers that are still to come */
    int64_t unsent_from; /* no unsent row has a lower id, by the answers; INT64_MIN: not known */
    char channel[64];    /* of the answers; "": nobody was asked */
    int64_t deadline_ms;
};

/* Finds the processes by their sessions, and asks them. They answer meanwhile. 0 or -1. */
int relays_ask(struct asking *asking, struct admin *admin, struct status *status, int wait_ms,
               struct error *error);
/* Takes what this process answers. Truncates texts that are too long; missing values become "" or
 * 0. False: this is not an answer. */
bool relays_take(struct asking *asking, int process, const char *json);
/* Adds a line for each group of relays that differs from the most, and for those of which it is
 * unknown. `own`: a configuration that they are compared with instead; NULL: none. `name`: what it
 * is called. */
void relays_compare(const struct status *status, const struct fingerprint *own, const char *name,
                    struct findings *findings);
/* Waits for the answers. Those that do not come leave what the sessions say. 0 or -1. */
int relays_hear(struct asking *asking, struct error *error);

#endif
