#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Milliseconds since an arbitrary start; never steps back (clock_gettime(2), CLOCK_MONOTONIC). */
int64_t clock_now_ms(void);

/* The same, but also counts the time the machine was suspended (CLOCK_BOOTTIME). */
int64_t clock_boot_ms(void);

/* Microseconds on the clock of clock_now_ms(). */
int64_t clock_now_us(void);

/* Microseconds since 1970; may step. */
int64_t clock_wall_us(void);

/* Milliseconds left until a deadline given in clock_now_ms() time; 0 when it has passed. The result
 * is a valid timeout for poll(2). */
int clock_left_ms(int64_t deadline_ms);

#endif
