#include "message/backoff.h"

int64_t backoff_ms(int64_t first_ms, int64_t max_ms, int attempt, uint32_t random)
{
    int64_t delay = first_ms < max_ms ? first_ms : max_ms;
    int64_t half;

    for (int i = 1; i < attempt && delay < max_ms; i++)
        delay = delay > max_ms / 2 ? max_ms : delay * 2;
    half = delay / 2;
    /* half * random / UINT32_MAX, in two terms that cannot overflow */
    delay -= half;
    delay += half / UINT32_MAX * random;
    delay += (int64_t)((uint64_t)(half % UINT32_MAX) * random / UINT32_MAX);
    return delay < 1 ? 1 : delay;
}
