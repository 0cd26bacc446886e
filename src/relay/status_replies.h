#ifndef RELAY_STATUS_REPLIES_H
#define RELAY_STATUS_REPLIES_H

#include "admin/status/relays.h"
#include "pg/session.h"
#include "relay/report.h"

/*
 * Replies to `status` for this process. A question is a notification with a token; the reply is a
 * notification on the channel named after that token. Anyone may ask, so few questions are kept at
 * a time.
 */

#define QUESTIONS_MAX 4

struct status_replies {
    const struct report *report;
    char tokens[QUESTIONS_MAX][STATUS_TOKEN_BYTES];
    int count;
    struct {
        uint64_t sent;
        int64_t at_ms;
    } marks[2]; /* for the rate; the older one is 5 to 10 s old */
};

/* Starts listening for questions on the session. 0, or -1 with *error set: the session is lost. */
int status_replies_listen(struct status_replies *replies, struct session *session,
                          struct error *error);

/* Keeps a question, unless its token is not one that `status` could have made. */
void status_replies_ask(struct status_replies *replies, const char *token);

/* Call it about once a second. */
void status_replies_tick(struct status_replies *replies);

/* What the process says of itself. Shortens errors, and then leaves out lanes, until it fits.
 * Returns `out`; "": no memory. */
char *status_replies_write(const struct status_replies *replies, uint32_t table,
                           char out[STATUS_ANSWER_BYTES]);

/* Replies to the questions that have arrived, naming the table by its oid. 0, or -1 with *error
 * set: the session is lost. */
int status_replies_send(struct status_replies *replies, struct session *session, uint32_t table,
                        struct error *error);

#endif
