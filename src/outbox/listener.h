#ifndef OUTBOX_LISTENER_H
#define OUTBOX_LISTENER_H

#include "base/error.h"
#include "outbox/options.h"

#include <stdbool.h>

/*
 * A session that hears of inserts into the outbox, apart from the lanes' sessions. A hint only: a
 * row is delivered without it too, later. Used by one thread; no call takes longer than a few
 * statement timeouts.
 */

struct listener;

/* Allocates; no network. `name` becomes part of application_name. NULL: no memory. */
struct listener *listener_open(const struct outbox_options *options, const char *name);
void listener_close(struct listener *listener);

enum listener_result {
    LISTENER_READY,
    LISTENER_ABSENT, /* the table has no trigger that notifies */
    LISTENER_DEAF,   /* something between swallows notifications or shares sessions: *error */
    LISTENER_FAILED  /* *error */
};

/* Connects, and listens when there is something to hear. Unless it is ready, nothing is left open.
 */
enum listener_result listener_connect(struct listener *listener, struct error *error);
void listener_disconnect(struct listener *listener);

/* The socket to poll for input; -1: not connected. */
int listener_fd(const struct listener *listener);

/* The functions below return 0, or -1 with *error set: then disconnect. */

/* Reads what has arrived, without waiting; *heard: there was a notification of an insert. */
int listener_hear(struct listener *listener, bool *heard, struct error *error);
/* One has arrived together with an answer: listener_hear before the socket is polled. */
bool listener_has_heard(const struct listener *listener);

/*
 * Armed: every transaction that has not yet inserted will notify when it does, and what others have
 * inserted is either visible now or rolled back. Disarmed: inserts may do without. Arming fails
 * without error while a transaction is open that inserted unarmed, or while another relay is armed,
 * so that inserts notify all the same.
 */
int listener_arm(struct listener *listener, bool *another, struct error *error);
int listener_disarm(struct listener *listener, struct error *error);
bool listener_is_armed(const struct listener *listener);

/* Every few seconds: keeps the lease, by whose end PostgreSQL frees the inserters of a relay that
 * is frozen (from PostgreSQL 14 on), and makes sure that the trigger is still there. */
int listener_renew(struct listener *listener, struct error *error);

#endif
