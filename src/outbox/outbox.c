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
    int slices = options->order == ORDER_KEY ? options->slices : 1;

    if (outbox == NULL)
        return NULL;
    outbox->options = options;
    outbox->routes = routes;
    outbox->walk = (struct away_walk){.from = HORIZON_UNKNOWN, .end = INT64_MAX};
    (void)snprintf(outbox->name, sizeof outbox->name, "%s", name);
    if (turns_init(&outbox->turns, slices) == 0 && horizon_view_init(&outbox->view, slices) == 0)
        return outbox;
    outbox_close(outbox);
    return NULL;
}

int outbox_share(struct outbox *outbox, struct horizon *horizon, struct wal_flush *flush)
{
    outbox->horizon = horizon;
    outbox->flush = flush;
    outbox->away_horizon = horizon_open(horizon_slices(horizon));
    return outbox->away_horizon != NULL ? 0 : -1;
}

void outbox_close(struct outbox *outbox)
{
    if (outbox == NULL)
        return;
    outbox_abandon(outbox);
    pipeline_close(outbox);
    session_end(&outbox->session);
    horizon_close(outbox->away_horizon);
    horizon_view_free(&outbox->view);
    turns_free(&outbox->turns);
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
