#ifndef RELAY_TURN_H
#define RELAY_TURN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whose rows a lane claims next. Parked rows and the outbox take turns, so that neither holds up
 * the other; rows that PostgreSQL has refused have every other turn while some are due. Times are
 * those of clock_now_ms(). No I/O.
 */

enum turn { TURN_OUTBOX, TURN_PARKED, TURN_REFUSED };

struct turns_of_lane {
    enum turn last;       /* whose turn the last claim was */
    bool parked_had_turn; /* the last turn that was not of refused rows; or the lane has waited */
    bool outbox_empty;    /* the last claim of the outbox found nothing */
    int64_t parked_at_ms; /* when parked rows are claimed next */
    /* How much later, while the outbox has rows: parked rows for which a broker takes long have a
     * tenth of the time. */
    int64_t parked_pace_ms;
};

/* Parked rows have a turn now. */
bool turn_is_of_parked(const struct turns_of_lane *turns, int64_t now_ms);

/* Begins the next turn, and returns whose it is. `ahead`: a claim of the outbox has been sent
 * already. `refused_are_due`: there are refused rows to be tried again. */
enum turn turn_begin(struct turns_of_lane *turns, bool ahead, bool refused_are_due, int64_t now_ms);

/* The turn's claim found nothing, and nothing says that there is more. Returns whether the lane
 * waits now. After that the outbox is claimed first, because the lane may have been woken for a new
 * row of it. */
bool turn_end_empty(struct turns_of_lane *turns, int64_t now_ms);

/* A batch of parked rows was published, which took so long. */
void turn_note_parked(struct turns_of_lane *turns, int64_t took_ms);
/* More parked rows are due already. */
void turn_more_parked(struct turns_of_lane *turns, int64_t now_ms);

#endif
