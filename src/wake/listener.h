#ifndef WAKE_LISTENER_H
#define WAKE_LISTENER_H

#include "catalog/table.h"

#include <stdbool.h>

/*
 * Hears of inserts into the outbox on a session that somebody else keeps connected. A hint only: a
 * row is delivered without it too, later. Used by one thread; no call takes longer than a few
 * statement timeouts.
 */

struct listener;

/* On this session, to this table, which must have been described. NULL: no memory. */
struct listener *listener_open(struct session *session, const struct table *table);
void listener_close(struct listener *listener);

enum listener_result {
    LISTENER_READY,
    LISTENER_ABSENT, /* the table has no trigger that notifies */
    LISTENER_DEAF,   /* something between swallows notifications or shares sessions: *error */
    LISTENER_FAILED  /* *error; the session may be lost */
};

/* Listens when there is something to hear. */
enum listener_result listener_start(struct listener *listener, struct error *error);
/* The session has ended. */
void listener_forget(struct listener *listener);

/* The functions below return 0, or -1 with *error set: then the session is to be closed. */

/* Reads what has arrived, without waiting; *arrived: how many notifications, *heard: how many of
 * them as inserts send them. */
int listener_hear(struct listener *listener, int *arrived, int *heard, struct error *error);
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

/* Listens no more, and is disarmed; what has arrived is dropped. */
int listener_stop(struct listener *listener, struct error *error);

/* Every few seconds: keeps the lease, by whose end PostgreSQL frees the inserters of a relay that
 * is frozen (from PostgreSQL 14 on), and makes sure that the trigger is still there. */
int listener_renew(struct listener *listener, struct error *error);

#endif
