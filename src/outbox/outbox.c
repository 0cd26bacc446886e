/*
 * A lane's view of the outbox: made without any network, connected when it is wanted.
 */
#include "outbox/pipeline.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

struct outbox *outbox_open(const struct outbox_options *options, const struct routes *routes,
                           const char *name)
{
    struct outbox *outbox = calloc(1, sizeof *outbox);

    if (outbox == NULL)
        return NULL;
    outbox->options = options;
    outbox->routes = routes;
    (void)snprintf(outbox->name, sizeof outbox->name, "%s", name);
    if (bounds_init(&outbox->bounds, options->order == ORDER_KEY ? options->slices : 1) == 0)
        return outbox;
    bounds_free(&outbox->bounds);
    free(outbox);
    return NULL;
}

void outbox_share(struct outbox *outbox, struct shared *shared)
{
    outbox->shared = shared;
}

void outbox_close(struct outbox *outbox)
{
    if (outbox == NULL)
        return;
    outbox_abandon(outbox);
    pipeline_close(outbox);
    barrier_close(&outbox->barrier);
    bounds_free(&outbox->bounds);
    free(outbox);
}

int outbox_ready(struct outbox *outbox, struct error *error)
{
    return outbox->session.conn != NULL ? 0 : pipeline_open(outbox, error);
}

/* A process that slept while it waited for a COMMIT finds the claim behind it fresh in its socket,
 * and behind that the end of the session. */
bool outbox_claim_is_lost(const struct outbox *outbox)
{
    struct pollfd end = {.fd = PQsocket(outbox->session.conn), .events = POLLRDHUP};

    return poll(&end, 1, 0) > 0;
}
