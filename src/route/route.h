#ifndef ROUTE_ROUTE_H
#define ROUTE_ROUTE_H

#include "route/match.h"
#include "route/template.h"

/* The first route that matches is used. Without routes every message goes to sink 0 with topic
 * "{topic}" and key "{key}". */
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

void route_free(struct route *route);
void routes_free(struct routes *routes);

/* The index of the route for this topic; -1: none matches. */
int route_find(const struct routes *routes, struct text topic);
/* The sink that messages of this topic go to; -1: no route matches. */
int route_sink(const struct routes *routes, struct text topic);

/* Sets sink, destination and route_key of each pending message. One that no route matches is
 * declined, and one whose topic cannot be made is rejected, with a reason. */
void route_batch(const struct routes *routes, struct batch *batch);

#endif
