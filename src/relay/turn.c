#include "relay/turn.h"

#define PARKED_MS 900 /* less than the second after which an idle lane polls */
#define SLOW_MS 200   /* a batch usually takes a tenth of it */

bool turn_is_of_parked(const struct turns_of_lane *turns, int64_t now_ms)
{
    int64_t at_ms = turns->parked_at_ms + (turns->outbox_empty ? 0 : turns->parked_pace_ms);

    return !turns->parked_had_turn && now_ms >= at_ms;
}

enum turn turn_begin(struct turns_of_lane *turns, bool ahead, bool refused_are_due, int64_t now_ms)
{
    if (!ahead && refused_are_due && turns->last != TURN_REFUSED)
        return turns->last = TURN_REFUSED;
    turns->last = !ahead && turn_is_of_parked(turns, now_ms) ? TURN_PARKED : TURN_OUTBOX;
    turns->parked_had_turn = turns->last == TURN_PARKED;
    if (turns->last == TURN_PARKED)
        turns->parked_at_ms = now_ms + PARKED_MS;
    else
        turns->outbox_empty = false;
    return turns->last;
}

bool turn_end_empty(struct turns_of_lane *turns, int64_t now_ms)
{
    bool rests = turns->parked_had_turn ? turns->outbox_empty : !turn_is_of_parked(turns, now_ms);

    if (turns->last == TURN_REFUSED)
        return false;
    if (turns->last == TURN_OUTBOX)
        turns->outbox_empty = true;
    if (rests)
        turns->parked_had_turn = true;
    return rests;
}

void turn_note_parked(struct turns_of_lane *turns, int64_t took_ms)
{
    turns->parked_pace_ms = took_ms >= SLOW_MS ? 9 * took_ms : 0;
}

void turn_more_parked(struct turns_of_lane *turns, int64_t now_ms)
{
    turns->parked_at_ms = now_ms;
}
