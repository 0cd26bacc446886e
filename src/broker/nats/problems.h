#ifndef BROKER_NATS_PROBLEMS_H
#define BROKER_NATS_PROBLEMS_H

#include "base/text.h"
#include "broker/nats/acks.h"

/* What a server forbids, which a thread of the library is told; only the files of this folder
 * include it.
 */

struct nats_problems;

struct nats_problems *nats_problems_take(unsigned *number); /* NULL: no memory */
void nats_problems_return(struct nats_problems *problems);
natsStatus nats_problems_set(natsOptions *library, struct nats_problems *problems);
void nats_problems_watch(struct nats_problems *problems, const natsConnection *connection);
int nats_problems_signal(const struct nats_problems *problems); /* readable: there is one */
/* The next subject that may not be published to, as the server quotes it. */
bool nats_problems_next(struct nats_problems *problems, char quoted[NATS_TEXT_BYTES]);
bool nats_is_quoted(const char *quoted, struct text subject);

#endif
