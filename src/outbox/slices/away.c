#include "outbox/slices/away.h"

#include "base/clock.h"
#include "outbox/slices/slice_lock_state.h"
#include "outbox/slices/statements.h"

#include <stdlib.h>
#include <string.h>

#define PAUSE_MS_MIN 250 /* between two rounds of scans */
#define RESTART_MS 5000  /* then the window moves back to the bound, for rows committed late */
#define STEP_MS 1000     /* scans that have delayed a claim for this long go on after it */

static bool applies(const struct slice_lock *lock, const struct claim_request *request)
{
    return claim_computes_topics(request) && lock->horizon != NULL &&
           table_has_integer_ids(lock->owner.table);
}

bool away_scan_is_due(const struct slice_lock *lock, const struct claim_request *request)
{
    return applies(lock, request) && clock_now_ms() >= lock->walk.round.due_ms;
}

static int64_t read_id(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return INT64_MAX;
    return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

/* Only a scan that began at the bound can raise it: one of a later window has not seen the rows
 * before that window. */
static void take_scanned(struct slice_lock *lock, const PGresult *result)
{
    struct away_walk *walk = &lock->walk;

    for (int row = 0; row < PQntuples(result); row++) {
        int slice = (int)strtol(PQgetvalue(result, row, SCAN_SLICE), NULL, 10);

        if (walk->from == HORIZON_UNKNOWN)
            (void)horizon_note_scan(lock->away_horizon, &lock->view.stamp, slice,
                                    &lock->view.bounds[slice], false,
                                    read_id(result, row, SCAN_LOWEST),
                                    PQgetvalue(result, row, SCAN_READ_HIGH)[0] == 't');
        walk->end = read_id(result, row, SCAN_END);
    }
}

/* A statement that takes too long or too much memory says nothing about the row it was at. */
static bool is_of_topic(const struct session *session, const struct error *error)
{
    return failure_is_of_row(session->failure) && !error_is_sqlstate(error, "57014") &&
           !error_is_sqlstate(error, "53200");
}

/* Returns 1 when the topic of a row cannot be computed; -1 with the session closed. */
static int run_scan(struct session *session, const struct scan *scan, PGresult **result,
                    struct error *error)
{
    struct error other;
    bool of_row;

    *result = NULL;
    if (session_queue(session, "scan", SCAN_PARAMS, scan->params, false, error) < 0 ||
        session_sync(session, error) < 0)
        return session_abort(session);
    *result = scan_answer(session, error);
    of_row = *result == NULL && is_of_topic(session, error);
    if ((*result == NULL && !of_row) ||
        session_skip(session, PGRES_PIPELINE_SYNC, of_row ? &other : error) < 0) {
        PQclear(*result);
        *result = NULL;
        return session_abort(session);
    }
    return of_row;
}

static int scan_slices(struct slice_lock *lock, const struct claim_request *request,
                       struct error *error)
{
    struct scan_round *round = &lock->walk.round;
    int slices = lock->choice.count;
    struct scan scan = {.first = round->next, .away = request->away};
    int64_t began_ms = clock_now_ms();
    PGresult *result = NULL;
    int status = 0;

    scan.count = slices - round->next < round->width ? slices - round->next : round->width;
    status = scan_fill(&scan, &lock->view, slices, error) == 0
                 ? run_scan(lock->owner.session, &scan, &result, error)
                 : session_abort(lock->owner.session);
    scan_free(&scan);
    if (status != 0)
        return status;
    take_scanned(lock, result);
    PQclear(result);
    round->next += scan.count;
    lock->walk.took_ms += clock_now_ms() - began_ms;
    scan_round_adapt(round, clock_now_ms() - began_ms, slices);
    return 0;
}

enum topics_column { TOPICS_SLICE, TOPICS_ROW, TOPICS_COLUMNS };

static const char *const topics_columns[TOPICS_COLUMNS] = {
    [TOPICS_SLICE] = "slice",
    [TOPICS_ROW] = "relay_row",
};

int away_find_row(struct slice_lock *lock, const struct claim_request *request,
                  struct message *found, struct error *error)
{
    struct session *session = lock->owner.session;
    bool bounded = table_has_integer_ids(lock->owner.table);
    struct scan scan = {
        .first = lock->walk.round.next, .count = lock->choice.count, .away = request->away};
    PGresult *last = NULL;
    struct error other;
    bool failed;

    (void)slice_lock_read_horizon(lock, request);
    if (scan_fill(&scan, &lock->view, lock->choice.count, error) < 0 ||
        session_queue(session, "topics", bounded ? SCAN_PARAMS : 1,
                      bounded ? scan.params : &scan.params[SCAN_AWAY], true, error) < 0 ||
        session_sync(session, error) < 0) {
        scan_free(&scan);
        return session_abort(session);
    }
    scan_free(&scan);
    failed = session_read_last(session, &last, error) < 0;
    if (failed && last != NULL && is_of_topic(session, error) &&
        wire_check_columns(last, topics_columns, TOPICS_COLUMNS, error) == 0) {
        found->slice = wire_int4(PQgetvalue(last, 0, TOPICS_SLICE));
        memcpy(found->row, PQgetvalue(last, 0, TOPICS_ROW), sizeof found->row);
    } else if (failed) {
        PQclear(last);
        return session_abort(session);
    }
    PQclear(last);
    if (session_skip(session, PGRES_PIPELINE_SYNC, &other) == 0)
        return failed;
    *error = other;
    return -1;
}

static void rest(struct away_walk *walk)
{
    int64_t rest_ms = SCAN_REST * walk->took_ms;

    walk->round.next = 0;
    walk->scanned_all = true;
    walk->round.due_ms = clock_now_ms() + (rest_ms > PAUSE_MS_MIN ? rest_ms : PAUSE_MS_MIN);
    walk->took_ms = 0;
}

int away_scan(struct slice_lock *lock, const struct claim_request *request, struct error *error)
{
    struct away_walk *walk = &lock->walk;
    int64_t until_ms = clock_now_ms() + STEP_MS;

    if (!applies(lock, request)) {
        if (claim_is_of_outbox(request))
            *walk = (struct away_walk){.from = HORIZON_UNKNOWN, .end = INT64_MAX};
        return 0;
    }
    if (lock->owner.session->in_flight)
        return 0;
    if (walk->from > HORIZON_UNKNOWN && clock_now_ms() >= walk->restart_ms)
        walk->from = HORIZON_UNKNOWN;
    (void)slice_lock_read_horizon(lock, request);
    if (walk->round.epoch != lock->view.stamp.epoch || walk->round.width == 0)
        *walk = (struct away_walk){.round = {.epoch = lock->view.stamp.epoch, .width = 1},
                                   .from = HORIZON_UNKNOWN,
                                   .end = INT64_MAX};
    if (clock_now_ms() < walk->round.due_ms)
        return 0;
    slice_lock_apply_window(lock);
    do {
        int status = scan_slices(lock, request, error);

        if (status != 0)
            return status;
    } while (walk->round.next < lock->choice.count && clock_now_ms() < until_ms);
    if (walk->round.next == lock->choice.count)
        rest(walk);
    return 0;
}

bool away_is_starting(const struct slice_lock *lock, const struct claim_request *request)
{
    return applies(lock, request) && !lock->walk.scanned_all;
}

bool away_next_window(struct slice_lock *lock, const struct claim_request *request)
{
    struct away_walk *walk = &lock->walk;

    if (!applies(lock, request))
        return false;
    if (walk->end == INT64_MAX) {
        walk->from = HORIZON_UNKNOWN;
        return false;
    }
    if (walk->from == HORIZON_UNKNOWN)
        walk->restart_ms = clock_now_ms() + RESTART_MS;
    walk->from = walk->end + 1;
    walk->round.due_ms = 0;
    return true;
}
