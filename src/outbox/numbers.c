#include "outbox/state.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/text.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>

/* The entries of many rows that got numbers stay in the index while a snapshot is held. */
#define LOOK_MS 1000
#define LOOK_SHARE 20 /* a look that finds nothing takes at most a twentieth of the time */
#define STEP_MS 100   /* then the lane claims, or looks whether it is to stop */
#define ROWS_MAX 10000

struct step {
    struct outbox *outbox;
    int32_t slice;
    int limit;
    char name[128]; /* of the first row */
    int64_t numbered;
};

enum step_result { STEP_DONE, STEP_BUSY, STEP_REFUSED, STEP_FAILED };

/* Deferred triggers run before COMMIT, too. NULL with the session open: PostgreSQL refuses to
 * change a row. */
static PGresult *change(struct session *session, const struct array *slice, struct error *error)
{
    struct error other;
    PGresult *result;
    bool is_of_row;

    if (session_queue(session, "number", 1, slice, false, error) < 0 ||
        session_queue(session, "constraints", 0, NULL, false, error) < 0 ||
        session_sync(session, error) < 0)
        return NULL;
    result = session_answer(session, PGRES_TUPLES_OK, error);
    if (result != NULL && session_check(session, PGRES_COMMAND_OK, error) == 0 &&
        session_skip(session, PGRES_PIPELINE_SYNC, error) == 0)
        return result;
    PQclear(result);
    is_of_row = failure_is_of_row(session->failure);
    if (session->conn != NULL && (session_finish(session, &other) < 0 || !is_of_row))
        session_close(session);
    return NULL;
}

/* The transaction has begun. */
static enum step_result number_rows(struct step *step, struct error *error)
{
    struct session *session = &step->outbox->session;
    uint32_t slice = htobe32((uint32_t)step->slice);
    uint32_t limit = htobe32((uint32_t)step->limit);
    const struct array params[2] = {{.bytes = (char *)&slice, .len = sizeof slice},
                                    {.bytes = (char *)&limit, .len = sizeof limit}};
    PGresult *result = session_run(session, "lock_one_slice", 1, params, error);
    bool is_free = result != NULL && PQntuples(result) > 0;
    int64_t locked;

    PQclear(result);
    if (result == NULL || !is_free)
        return result == NULL ? STEP_FAILED : STEP_BUSY;
    result = session_run(session, "lock_unnumbered", 2, params, error);
    if (result == NULL)
        return STEP_FAILED;
    (void)snprintf(step->name, sizeof step->name, "%s", PQgetvalue(result, 0, 0));
    locked = strtoll(PQgetvalue(result, 0, 1), NULL, 10);
    PQclear(result);
    if (locked == 0)
        return STEP_BUSY;
    result = change(session, params, error);
    if (result == NULL)
        return session->conn != NULL ? STEP_REFUSED : STEP_FAILED;
    step->numbered = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    if (step->numbered == locked)
        return STEP_DONE;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "a trigger on UPDATE keeps column %s NULL",
                    step->outbox->table.columns[COLUMN_ID].quoted);
    return STEP_REFUSED;
}

static enum step_result number_batch(struct step *step, struct error *error)
{
    struct session *session = &step->outbox->session;
    enum step_result result;
    struct error other;

    step->numbered = 0;
    if (session_execute(session, "BEGIN", error) < 0)
        return STEP_FAILED;
    result = number_rows(step, error);
    if (result == STEP_FAILED)
        return STEP_FAILED;
    if (session_execute(session, result == STEP_DONE ? "COMMIT" : "ROLLBACK", &other) == 0)
        return result;
    *error = other;
    return STEP_FAILED;
}

/* What PostgreSQL refuses to change is tried again with fewer rows, until the row is known. It
 * holds up the rows without a number behind it, of its slice alone. */
static enum step_result number_slice(struct step *step, struct error *error)
{
    static struct log_limit limit = {.lines = "rows that cannot be numbered"};
    struct outbox *outbox = step->outbox;
    enum step_result result = STEP_REFUSED;

    for (step->limit = ROWS_MAX; result == STEP_REFUSED && step->limit >= 1; step->limit /= 10)
        result = number_batch(step, error);
    if (result == STEP_REFUSED) {
        step->numbered = 0;
        log_limit_line(&limit, LOG_ERROR, clock_now_ms(),
                       "row %s of %s has no number in column %s, and cannot be given one: %s",
                       step->name, outbox->table.quoted, outbox->table.columns[COLUMN_ID].quoted,
                       error->text);
    }
    return result;
}

bool numbers_are_due(const struct outbox *outbox)
{
    return outbox->table.numbered && clock_left_ms(outbox->numbers_due_ms) <= 0;
}

/* Lanes that look at the same time begin with different slices. */
static int number_found(struct outbox *outbox, const PGresult *found, int64_t *numbered,
                        struct error *error)
{
    int slices = PQntuples(found);
    int first = slices > 0 ? (int)(clock_boot_ms() % slices) : 0;
    int64_t end_ms = clock_now_ms() + STEP_MS;
    int refused = 0;

    *numbered = 0;
    for (int i = 0; i < slices && (*numbered == 0 || clock_left_ms(end_ms) > 0); i++) {
        struct step step = {
            .outbox = outbox,
            .slice = (int32_t)strtol(PQgetvalue(found, (first + i) % slices, 0), NULL, 10)};

        switch (number_slice(&step, error)) {
        case STEP_FAILED:
            return -1;
        case STEP_REFUSED:
            refused++;
            break;
        case STEP_DONE:
        case STEP_BUSY:
            break;
        }
        *numbered += step.numbered;
    }
    outbox->numbers_are_refused = slices > 0 && refused == slices;
    return 0;
}

int numbers_look(struct outbox *outbox, bool *has_more, struct error *error)
{
    int64_t began_ms = clock_now_ms();
    int64_t took_ms;
    int64_t numbered;
    PGresult *found;
    int status;

    *has_more = false;
    if (!numbers_are_due(outbox) || outbox->session.in_flight)
        return 0;
    found = session_run(&outbox->session, "unnumbered", 0, NULL, error);
    if (found == NULL)
        return -1;
    status = number_found(outbox, found, &numbered, error);
    PQclear(found);
    if (status < 0)
        return -1;
    *has_more = numbered > 0;
    outbox->rows_numbered += numbered;
    if (!*has_more && outbox->rows_numbered > 0) {
        log_info("%" PRId64 " row%s of table %s had no number in column %s, and got one",
                 outbox->rows_numbered, PLURAL(outbox->rows_numbered), outbox->table.quoted,
                 outbox->table.columns[COLUMN_ID].quoted);
        outbox->rows_numbered = 0;
    }
    took_ms = clock_now_ms() - began_ms;
    /* While there are rows to number, half of the time goes to slices whose rows have numbers. */
    outbox->numbers_due_ms =
        clock_now_ms() + (*has_more ? took_ms : LOOK_MS + LOOK_SHARE * took_ms);
    return 0;
}
