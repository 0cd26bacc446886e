#ifndef BROKER_BACKGROUND_H
#define BROKER_BACKGROUND_H

/*
 * Threads that a client library makes between these two run in SCHED_BATCH, sched(7): what they do
 * can wait for a lane to pause. Woken as a lane is, such a thread would take its processor for each
 * single message. Returns what background_leave wants; the caller's own thread is as before.
 */
int background_enter(void);
void background_leave(int policy);

#endif
