/*
 * The survey: bounds for slices that have none.
 *
 * Rows that have left stay in the index as long as an old transaction might still see them, and a
 * lane without bounds walks over all of them at each look: behind some millions for longer than a
 * statement may take. So it asks once where the unsent rows of each slice begin.
 *
 * A bound that is found so is as safe as one that trails the lane's claims. An id that has been
 * drawn waits in a trail (trail.c): when its fence has ended, who drew a lower one has ended too,
 * so what is asked from then on shows every row up to that id that there will ever be. Of these,
 * rows only leave. Until then claims go on: as long as a writer keeps the fence from ending, no
 * bound could move.
 */
#include "outbox/choose.h"
#include "outbox/sql_choose.h"

#include "base/clock.h"
#include "base/log.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOW_LOOK_MS 1000
#define WAIT_MS 50        /* between two looks whether the fence has ended, */
#define FENCE_MS_MAX 5000 /* and how long at most */
#define REST_MS 60000
#define STEP_MS_MAX 4000 /* a stop is waited for */

static bool lacks_a_bound(const struct bounds *bounds)
{
    for (int i = 0; i < bounds->count; i++)
        if (bounds->slices[i].first == BOUNDS_UNKNOWN)
            return true;
    return false;
}

/* Without an index on the id alone the newest could not be found. Where looks overrun, the next one
 * is rest enough. */
void survey_note_look(struct outbox *outbox, int64_t took_ms, bool overran)
{
    struct survey *survey = &outbox->survey;

    if (took_ms < SLOW_LOOK_MS || (!overran && clock_now_ms() < survey->rests_ms) ||
        outbox->options->order != ORDER_KEY || !outbox->table.columns[COLUMN_ID].unique ||
        !lacks_a_bound(&outbox->bounds))
        return;
    survey->due = true;
    survey->overran = overran;
    survey->look_ms = took_ms < STEP_MS_MAX ? took_ms : STEP_MS_MAX;
}

void survey_end(struct survey *survey)
{
    free(survey->firsts);
    survey->firsts = NULL;
    survey->due = false;
}

static int begin_at(struct outbox *outbox, int64_t drawn, struct error *error)
{
    struct survey *survey = &outbox->survey;
    int count = outbox->bounds.count;

    survey->firsts = calloc((size_t)count, sizeof *survey->firsts);
    if (survey->firsts == NULL)
        return error_no_memory(error);
    survey->drawn = drawn;
    survey->epoch = outbox->bounds.epoch;
    survey->done = 0;
    survey->took_ms = 0;
    survey->began_ms = clock_now_ms();
    survey->tail.count = 0;
    trail_add(&survey->tail, drawn, survey->began_ms);
    return 0;
}

/* Below what a slice was found to begin at, a row that should not have been there comes first. */
static void lower_firsts(const struct outbox *outbox)
{
    for (int i = 0; i < outbox->claimed_count; i++) {
        int64_t *first = &outbox->survey.firsts[outbox->claimed[i].slice];

        if (*first > outbox->claimed[i].first)
            *first = outbox->claimed[i].first;
    }
}

static int64_t lowest_claimed(const struct outbox *outbox)
{
    int64_t lowest = INT64_MAX;

    for (int i = 0; i < outbox->claimed_count; i++)
        if (outbox->claimed[i].first < lowest)
            lowest = outbox->claimed[i].first;
    return lowest;
}

int survey_note_claimed(struct outbox *outbox, struct error *error)
{
    if (outbox->survey.firsts != NULL)
        lower_firsts(outbox);
    else if (outbox->survey.due)
        return begin_at(outbox, lowest_claimed(outbox), error);
    return 0;
}

/* Where looks overrun, nothing is claimed. Without any row nobody waits. */
static int begin_at_newest(struct outbox *outbox, struct error *error)
{
    PGresult *result = pipeline_run(outbox, "newest", 0, NULL, error);
    int status = 0;

    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0)
        status = begin_at(outbox, strtoll(PQgetvalue(result, 0, 0), NULL, 10), error);
    else
        survey_end(&outbox->survey);
    PQclear(result);
    return status;
}

static int raise_fence(struct outbox *outbox, struct error *error)
{
    struct trail *tail = &outbox->survey.tail;
    int64_t asked_ms = clock_now_ms();
    int64_t xact;

    if (!trail_lacks_fence(tail, asked_ms))
        return 0;
    if (choose_number(outbox, "fence", &xact, error) < 0)
        return -1;
    trail_fence(tail, xact, asked_ms);
    return 0;
}

/* 1: for every snapshot from now on; 0: not yet; -1: closed. */
static int fence_has_ended(struct outbox *outbox, struct error *error)
{
    const struct trail *tail = &outbox->survey.tail;
    int64_t xmin;

    if (trail_end(tail, INT64_MAX, INT64_MAX) == TRAIL_NONE)
        return 0; /* there is none yet */
    if (choose_number(outbox, "horizon", &xmin, error) < 0)
        return -1;
    return trail_end(tail, xmin, INT64_MAX) != TRAIL_NONE;
}

/* Claims go on meanwhile, where they come to an end. */
static int wait_for_fence(struct survey *survey)
{
    if (!survey->overran)
        return 0;
    if (clock_now_ms() - survey->began_ms > FENCE_MS_MAX)
        survey_end(survey);
    else
        (void)poll(NULL, 0, WAIT_MS);
    return 1;
}

/* Beyond the id that it began at, lower ones than those that are there may still turn up. */
static int64_t read_first(const PGresult *result, int64_t drawn)
{
    int64_t first = PQntuples(result) > 0 ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : INT64_MAX;

    return first <= drawn ? first : drawn + 1;
}

static int look_at_slice(struct outbox *outbox, struct error *error)
{
    struct survey *survey = &outbox->survey;
    int64_t began_ms = clock_now_ms();
    char slice[16];
    const char *const params[1] = {slice};
    PGresult *result;

    (void)snprintf(slice, sizeof slice, "%d", survey->done);
    result = pipeline_run(outbox, "first", 1, params, error);
    if (result == NULL)
        return -1;
    survey->firsts[survey->done++] = read_first(result, survey->drawn);
    survey->took_ms += clock_now_ms() - began_ms;
    PQclear(result);
    return 0;
}

static void rest(struct survey *survey)
{
    survey_end(survey);
    survey->rests_ms = clock_now_ms() + REST_MS;
}

static void finish(struct outbox *outbox)
{
    struct survey *survey = &outbox->survey;

    log_info("%s: looks took long: asked once where unsent rows begin, in %lld ms", outbox->name,
             (long long)survey->took_ms);
    bounds_raise(&outbox->bounds, survey->firsts, survey->took_ms, clock_now_ms());
    rest(survey);
}

/* Claims go on in between, unless they come to no end. */
static int look_at_slices(struct outbox *outbox, struct error *error)
{
    struct survey *survey = &outbox->survey;
    int64_t until_ms = clock_now_ms() + survey->look_ms;

    do
        if (look_at_slice(outbox, error) < 0)
            return -1;
    while (survey->done < outbox->bounds.count && clock_now_ms() < until_ms);
    if (survey->done < outbox->bounds.count)
        return survey->overran;
    finish(outbox);
    return 1;
}

static int look(struct outbox *outbox, struct error *error)
{
    struct survey *survey = &outbox->survey;
    int ended;

    if (survey->firsts == NULL && begin_at_newest(outbox, error) < 0)
        return -1;
    if (survey->firsts == NULL)
        return 1;
    if (raise_fence(outbox, error) < 0)
        return -1;
    ended = survey->done > 0 ? 1 : fence_has_ended(outbox, error);
    if (ended < 0)
        return -1;
    return ended ? look_at_slices(outbox, error) : wait_for_fence(survey);
}

int survey_step(struct outbox *outbox, const struct claim *claim, struct error *error)
{
    struct survey *survey = &outbox->survey;
    int looked;

    if (survey->firsts != NULL && survey->epoch != outbox->bounds.epoch)
        survey_end(survey); /* nothing is to be known */
    if (!survey->due || outbox->claim_in_flight || claim->parked ||
        (survey->firsts == NULL && !survey->overran))
        return 0;
    looked = look(outbox, error);
    if (looked >= 0)
        return looked;
    rest(survey);
    return pipeline_abort(outbox);
}
