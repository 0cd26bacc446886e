#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds since an arbitrary start; never steps back (clock_gettime(2), CLOCK_MONOTONIC). */
int64_t clock_now_ms(void);

/* The same, but also counts the time the machine was suspended (CLOCK_BOOTTIME). */
int64_t clock_boot_ms(void);

/* Microseconds on the clock of clock_now_ms(). */
int64_t clock_now_us(void);

/* Microseconds since 1970; may step. */
int64_t clock_wall_us(void);

/* A time since 1970 as RFC 3339 writes it, in UTC, cut to a whole second without `with_ms`; "" when
 * there is no such time. Returns `out`. */
char *clock_utc(char out[40], int64_t unix_ms, bool with_ms);

/* Milliseconds left until a deadline given in clock_now_ms() time; 0 when it has passed. The result
 * is a valid timeout for poll(2). */
int clock_left_ms(int64_t deadline_ms);

#endif
