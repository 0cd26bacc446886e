#ifndef ROUTE_ROUTE_H
#define ROUTE_ROUTE_H

#include "route/match.h"
#include "route/template.h"

/* First match wins. An empty table sends everything to sink 0, topic "{topic}", key "{key}". */
struct route {
    struct match match;
    int sink;
    struct template topic;
    struct template key;
};

struct routes {
    struct route *entries; /* owned */
    int count;
};

void routes_free(struct routes *routes);

/* Fills sink, destination and route_key of each pending message, or rejects it with the reason. */
void route_batch(const struct routes *routes, struct batch *batch);

#endif
