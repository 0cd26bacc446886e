#ifndef MYSQL_AWAY_H
#define MYSQL_AWAY_H

#include "mysql/tables.h"
#include "outbox/slices/horizon.h"
#include "route/route.h"

#define AWAY_TOPICS_MAX 64
#define AWAY_FACTOR 20       /* a claim that may have to drop rows reads so many times more, and */
#define AWAY_STEP 4          /* so many times more than before, as long as it has dropped all, */
#define AWAY_ROWS_MAX 500000 /* until it reads so many rows */

/* What a lane knows of the rows of sinks that are away. */
struct away {
    uint64_t sinks; /* a bit for each */
    char *topics[AWAY_TOPICS_MAX];
    int count;
    int factor;
    struct horizon *horizon; /* the bounds of the rows of the other sinks */
};

/* Returns 0, or -1 when there is no memory. */
int away_init(struct away *away, int slices);
/* To be called before and after a claim of the outbox. `in_vain`: all rows that it has read were
 * dropped, and there may be more; `rows`: how many it might read. */
void away_begin(struct away *away, uint64_t sinks);
void away_end(struct away *away, bool in_vain, int rows);
void away_free(struct away *away);
/* Whether a row of this topic is for a sink that is away. */
bool away_drops(struct away *away, const struct routes *routes, const char *topic, size_t len);
/* The topics that are known, as literals divided by commas; free() it. NULL: none, or no memory. */
char *away_topics(const struct away *away);

#endif
