#ifndef BROKER_NATS_PROBLEMS_H
#define BROKER_NATS_PROBLEMS_H

#include "base/text.h"
#include "broker/nats/acks.h"

/* Subjects that the server does not permit; only the files of this folder include this header. */

struct nats_problems;

/* Takes a struct from the pool. *number: how many calls there were before. NULL: out of memory. */
struct nats_problems *nats_problems_take(unsigned *number);
void nats_problems_return(struct nats_problems *problems);
/* Makes connections with these options report to `problems`. */
natsStatus nats_problems_set(natsOptions *library, struct nats_problems *problems);
/* Forgets all subjects and records those of this connection from now on; NULL: of none. */
void nats_problems_watch(struct nats_problems *problems, const natsConnection *connection);
/* A file descriptor that is readable while subjects are recorded; -1: there is none. */
int nats_problems_signal(const struct nats_problems *problems);
/* Takes the next subject that the server does not permit, as the server quotes it. False: none. */
bool nats_problems_next(struct nats_problems *problems, char quoted[NATS_TEXT_BYTES]);
/* Whether `quoted` is this subject, as the server quotes it. */
bool nats_is_quoted(const char *quoted, struct text subject);

#endif
