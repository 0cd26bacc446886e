/*
 * Claims while a sink is away: its rows stay in the outbox, and those of the other sinks are
 * claimed past them. Where a row goes is found by its topic, here and not by the server. The topics
 * that were found to go to such a sink are left out by the next claim itself. A statement can name
 * only so many of them: bounds of the lane's own pass the rows that were dropped, and where no
 * bound can rise, a claim reads more and more rows.
 */
#include "mysql/away.h"

#include <stdlib.h>
#include <string.h>

static void forget(struct away *away)
{
    for (int i = 0; i < away->count; i++)
        free(away->topics[i]);
    away->count = 0;
}

int away_init(struct away *away, int slices)
{
    away->factor = AWAY_FACTOR;
    away->horizon = horizon_open(slices);
    return away->horizon != NULL ? 0 : -1;
}

void away_begin(struct away *away, uint64_t sinks)
{
    if (away->sinks != sinks) {
        forget(away);
        away->factor = AWAY_FACTOR;
    }
    away->sinks = sinks;
}

void away_end(struct away *away, bool in_vain, int rows)
{
    if (in_vain && rows < AWAY_ROWS_MAX)
        away->factor *= AWAY_STEP;
    else if (!in_vain && away->factor > AWAY_FACTOR)
        away->factor /= AWAY_STEP;
}

void away_free(struct away *away)
{
    forget(away);
    horizon_close(away->horizon);
}

bool away_drops(struct away *away, const struct routes *routes, const char *topic, size_t len)
{
    int sink;

    if (away->sinks == 0 || topic == NULL)
        return false;
    sink = routes != NULL ? route_sink(routes, (struct text){topic, len}) : 0;
    if (sink < 0 || (away->sinks >> sink & 1) == 0)
        return false;
    for (int i = 0; i < away->count; i++)
        if (strlen(away->topics[i]) == len && memcmp(away->topics[i], topic, len) == 0)
            return true;
    if (away->count < AWAY_TOPICS_MAX && (away->topics[away->count] = strndup(topic, len)) != NULL)
        away->count++;
    return true;
}

char *away_topics(const struct away *away)
{
    return away->count > 0 ? tables_literals((const char *const *)away->topics, away->count) : NULL;
}
