#ifndef ADMIN_STATUS_RELAYS_H
#define ADMIN_STATUS_RELAYS_H

#include "admin/admin_session.h"
#include "admin/status/status.h"

/* status, the relays' part. */

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
/* Waits for the answers. Those that do not come leave what the sessions say. 0 or -1. */
int relays_hear(struct asking *asking, struct error *error);

#endif
