#include "http/history.h"

#include "base/clock.h"

#define RATE_POINTS 3 /* intervals over which the rate is measured */

void history_add(struct history *history, const struct sample *sample, uint64_t sent)
{
    struct point point = {.at_ms = clock_now_ms(), .backlog = -1, .oldest_s = -1, .sent = sent};

    if (sample->is_known && !sample->has_failed) {
        const struct status *status = &sample->status;

        point.backlog = (double)status->backlog;
        point.oldest_s = status->backlog == 0 ? 0 : status->backlog_oldest_s;
    }
    history->points[history->next] = point;
    history->next = (history->next + 1) % HISTORY_POINTS;
    if (history->count < HISTORY_POINTS)
        history->count++;
}

const struct point *history_at(const struct history *history, int index)
{
    int first = history->next - history->count + HISTORY_POINTS;

    return &history->points[(first + index) % HISTORY_POINTS];
}

double history_rate(const struct history *history)
{
    int back = history->count - 1 < RATE_POINTS ? history->count - 1 : RATE_POINTS;
    const struct point *newest;
    const struct point *older;

    if (back < 1)
        return -1;
    newest = history_at(history, history->count - 1);
    older = history_at(history, history->count - 1 - back);
    if (newest->at_ms <= older->at_ms)
        return -1;
    return (double)(newest->sent - older->sent) * 1000 / (double)(newest->at_ms - older->at_ms);
}
