#ifndef SOURCE_SERVER_H
#define SOURCE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a lane remembers about the server from connection to connection: which server it was, and
 * whether a COMMIT was left without an answer.
 */

struct server {
    char system[24];          /* which server it is; "": not connected yet */
    int64_t timeline;         /* rises when another copy of its data takes over */
    int64_t unconfirmed_xact; /* set by the caller: the transaction whose COMMIT was not answered;
                                 0: none */
};

/* Whether both are the same server on the same timeline. */
bool server_is_same(const struct server *a, const struct server *b);

#endif
