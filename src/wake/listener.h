#ifndef WAKE_LISTENER_H
#define WAKE_LISTENER_H

#include "catalog/table.h"

#include <stdbool.h>

/*
 * Listens for notifications of inserts into the outbox, on a session that the caller keeps
 * connected. Notifications only speed things up: without them a row is delivered too, but later.
 * Used by one thread; no call takes longer than a few statement timeouts.
 */

struct listener;

/* `table` must have been described. NULL: no memory. */
struct listener *listener_open(struct session *session, const struct table *table);
void listener_close(struct listener *listener);

enum listener_result {
    LISTENER_READY,
    LISTENER_ABSENT, /* the table has no notify trigger, or it is disabled */
    LISTENER_DEAF,   /* notifications do not arrive; *error is set */
    LISTENER_FAILED  /* *error is set; the session may be lost */
};

/* Starts to listen if the table has the notify trigger. */
enum listener_result listener_start(struct listener *listener, struct error *error);
/* To be called when the session has ended. */
void listener_forget(struct listener *listener);

/* Functions below that return int return 0, or -1 with *error set; then close the session. */

/* Reads what has arrived, without waiting. *arrived: the number of notifications; *heard: how many
 * of them came from the trigger. */
int listener_hear(struct listener *listener, int *arrived, int *heard, struct error *error);
/* Whether a notification has arrived together with a query result. Then call listener_hear() before
 * polling the socket. */
bool listener_has_heard(const struct listener *listener);

/*
 * While the listener is armed, every insert notifies, and all rows inserted before it was armed are
 * either visible or rolled back. While it is disarmed, inserts do not notify. Arming fails without
 * an error while a transaction is open that has inserted without notifying, or while another relay
 * is armed (*another; then inserts notify all the same).
 */
int listener_arm(struct listener *listener, bool *another, struct error *error);
int listener_disarm(struct listener *listener, struct error *error);
bool listener_is_armed(const struct listener *listener);

/* Disarms and stops listening. Notifications that have arrived are dropped. */
int listener_stop(struct listener *listener, struct error *error);

/* To be called every few seconds: checks that the trigger still exists, and renews the lease. From
 * PostgreSQL 14 on, when the lease of a frozen relay expires, the server ends its session, so that
 * inserts need not notify any more. */
int listener_renew(struct listener *listener, struct error *error);

#endif
