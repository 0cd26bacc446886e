#include "base/clock.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

static int64_t read_us(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_now_ms(void)
{
    return read_us(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_boot_ms(void)
{
    return read_us(CLOCK_BOOTTIME) / 1000;
}

int64_t clock_now_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}

char *clock_utc(char out[40], int64_t unix_ms, bool with_ms)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm utc;
    size_t len;

    out[0] = '\0';
    if (gmtime_r(&seconds, &utc) == NULL)
        return out;
    len = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(out + len, 40 - len, with_ms ? ".%03dZ" : "Z", (int)(unix_ms % 1000));
    return out;
}

int clock_left_ms(int64_t deadline_ms)
{
    int64_t now = clock_now_ms();

    if (deadline_ms <= now)
        return 0;
    return deadline_ms - now > INT_MAX ? INT_MAX : (int)(deadline_ms - now);
}
