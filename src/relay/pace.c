#include "relay/pace.h"

#define PACE_BUSY_MS_MAX 25
#define SMALL_ROWS 90
#define QUICK_MS_MIN 1
#define STEPS_KEPT 1000 /* then the quickest counts for a millisecond more */

static void note_step(struct pace *pace, int64_t database_ms)
{
    pace->steps = (pace->steps + 1) % STEPS_KEPT;
    pace->quick_ms += pace->steps == 0;
    if (pace->quick_ms == 0 || pace->quick_ms > database_ms)
        pace->quick_ms = database_ms > QUICK_MS_MIN ? database_ms : QUICK_MS_MIN;
}

int64_t pace_behind(struct pace *pace, int rows, int64_t database_ms)
{
    int64_t pace_ms;

    if (rows >= SMALL_ROWS)
        return PACE_FIRST_MS;
    note_step(pace, database_ms);
    pace_ms = 4 * (database_ms - pace->quick_ms);
    if (pace_ms < PACE_FIRST_MS)
        return PACE_FIRST_MS;
    return pace_ms < PACE_BUSY_MS_MAX ? pace_ms : PACE_BUSY_MS_MAX;
}
