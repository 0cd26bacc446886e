#ifndef ADMIN_STATUS_RELAY_ANSWER_H
#define ADMIN_STATUS_RELAY_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A relay's answer to `status`, as the payload of a notification. It is JSON in ASCII, so that it
 * works in a database of any encoding, and shorter than 8,000 bytes, which is PostgreSQL's limit.
 */

/* The channel of questions. The payload of a question is a token; the answer goes to the channel
 * named after it. */
#define STATUS_CHANNEL "outbox_relay_status"
#define STATUS_ANSWER_CHANNEL "outbox_relay_answer_"
#define STATUS_TOKEN_BYTES 33 /* 32 hexadecimal digits and a NUL */

#define ANSWER_BYTES 8000
#define ANSWER_SINKS_MAX 16
#define ANSWER_LANES_MAX 64

struct answer_sink {
    char name[64];
    char state[16];
    int64_t since_ms; /* Unix time */
    char error[256];  /* "": none */
};

struct answer_lane {
    int number;
    char state[32];
    int64_t for_ms;
    int64_t claim_for_ms; /* how long its claim transaction has been open; -1: none is */
};

struct relay_answer {
    uint32_t table; /* the oid of the outbox table, because relays of other tables answer too */
    char version[32];
    int64_t since_ms; /* when it started, in Unix time */
    int64_t sent;
    int64_t parked;
    int64_t dead;
    double per_s;
    int64_t unsent_from; /* no unsent row has a lower id; INT64_MIN: it is not known */
    int sink_count;
    int lane_count;
    struct answer_sink sinks[ANSWER_SINKS_MAX];
    struct answer_lane lanes[ANSWER_LANES_MAX];
};

/* Shortens errors, and then leaves out lanes, until the answer fits. Returns `out`; "": no memory.
 */
char *relay_answer_write(const struct relay_answer *answer, char out[ANSWER_BYTES]);

/* Truncates texts that are too long; missing values become "" or 0. False: this is not an answer.
 */
bool relay_answer_read(struct relay_answer *answer, const char *json);

/* Whether the payload of a question is a token that `status` could have made. */
bool relay_answer_token_fits(const char *token);

#endif
