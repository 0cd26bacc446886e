#ifndef MYSQL_AWAY_H
#define MYSQL_AWAY_H

#include "mysql/tables.h"
#include "route/route.h"

#define AWAY_TOPICS_MAX 64
#define AWAY_FACTOR 20 /* a claim that may have to drop rows reads so many times more */

/* What a lane knows of the rows of sinks that are away. */
struct away {
    uint64_t sinks; /* a bit for each */
    char *topics[AWAY_TOPICS_MAX];
    int count;
    bool has_learned; /* the claim has met a topic that was not known */
};

/* To be called before a claim. */
void away_begin(struct away *away, uint64_t sinks);
void away_free(struct away *away);
/* Whether a row of this topic is for a sink that is away. */
bool away_drops(struct away *away, const struct routes *routes, const char *topic, size_t len);
/* The topics that are known, as literals divided by commas; free() it. NULL: none, or no memory. */
char *away_topics(const struct away *away);

#endif
