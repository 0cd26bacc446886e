#include "http/history.h"

#include "source/json.h"

#include <math.h>

void history_add(struct history *history, int64_t now_ms, double unsent, double oldest_s,
                 uint64_t sent)
{
    struct history_point *point =
        &history->points[(history->count + HISTORY_POINTS - 1) % HISTORY_POINTS];

    if (history->count == 0 || now_ms - point->at_ms >= HISTORY_STEP_MS) {
        point = &history->points[history->count++ % HISTORY_POINTS];
        *point = (struct history_point){now_ms, -1, -1, sent};
    }
    point->unsent = fmax(point->unsent, unsent);
    point->oldest_s = fmax(point->oldest_s, oldest_s);
}

json_t *history_pack(const struct history *history, int64_t now_ms)
{
    int first = history->count > HISTORY_POINTS ? history->count - HISTORY_POINTS : 0;
    json_t *ago = json_array();
    json_t *unsent = json_array();
    json_t *oldest = json_array();
    json_t *sent = json_array();

    for (int i = first; i < history->count; i++) {
        const struct history_point *point = &history->points[i % HISTORY_POINTS];
        int64_t ago_ms = now_ms - point->at_ms;

        if (ago_ms > (int64_t)HISTORY_POINTS * HISTORY_STEP_MS)
            continue;
        (void)json_array_append_new(ago, json_real((double)ago_ms / 1000));
        (void)json_array_append_new(unsent, number_or_null(point->unsent));
        (void)json_array_append_new(oldest, number_or_null(point->oldest_s));
        (void)json_array_append_new(sent, json_integer((json_int_t)point->sent));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "seconds_ago", ago, "unsent", unsent, "oldest_seconds",
                     oldest, "sent", sent);
}
