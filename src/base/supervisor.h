#ifndef BASE_SUPERVISOR_H
#define BASE_SUPERVISOR_H

#include <stdint.h>

/*
 * Tells systemd about the state of the service, as sd_notify(3) does: "READY=1", "STATUS=...",
 * "WATCHDOG=1". Does nothing when NOTIFY_SOCKET is not set. Never blocks: a message that the socket
 * does not take at once is lost.
 */
void supervisor_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
