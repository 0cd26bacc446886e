#ifndef OUTBOX_CONNECT_H
#define OUTBOX_CONNECT_H

#include "outbox/state.h"

/* Connects, describes the table and prepares the statements. 0, or -1 with *error set: closed. */
int outbox_connect(struct outbox *outbox, struct error *error);

#endif
