#include "outbox/fill.h"
#include "outbox/round.h"

#include "base/clock.h"
#include "outbox/slices/batch_array.h"
#include "pg/wire.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

struct round {
    struct outbox *outbox;
    struct batch *batch;
    const struct claim_request *request;
    enum round_rows rows;
};

struct step {
    const char *statement; /* NULL: `name` writes it */
    void (*name)(const struct round *round, char name[32]);
    bool (*applies)(const struct round *round); /* NULL: always */
    int (*queue)(struct round *round, const char *name,
                 struct error *error); /* NULL: no parameters */
    ExecStatusType status;             /* of the answer */
    /* Takes over what the answer says; NULL: nothing. Returns 0, or -1 with *error set. */
    int (*read)(struct round *round, PGresult *answer, struct error *error);
    bool keeps_answer; /* the reader takes it over */
    enum {
        FAILS_NEVER,
        FAILS_OF_TABLE,
        FAILS_OF_TOPIC, /* or of the table */
        FAILS_OF_ROW
    } fails; /* what is wrong if the statement fails */
};

/* ---- the locked slices ---- */

static bool has_slices(const struct round *round)
{
    return round->outbox->options->order == ORDER_KEY;
}

static const char *lean(const struct round *round)
{
    return round->outbox->is_lean ? "lean_" : "";
}

static void name_slices(const struct round *round, char name[32])
{
    (void)snprintf(name, 32, "%slock_%sslices", lean(round),
                   round->request->parked    ? "parked_"
                   : round->request->refused ? "refused_"
                                             : "");
}

static int queue_slices(struct round *round, const char *name, struct error *error)
{
    return slice_lock_queue(round->outbox->slices, name, round->outbox->is_lean, round->batch,
                            round->request, error);
}

static int read_slices(struct round *round, PGresult *answer, struct error *error)
{
    return slice_lock_read(round->outbox->slices, answer, round->request, error);
}

static bool is_of_refused(const struct round *round)
{
    return round->request->refused;
}

/* ---- the rows ---- */

static bool is_claim(const struct round *round)
{
    return round->rows == ROUND_CLAIM;
}

static bool is_careful(const struct round *round)
{
    return is_claim(round) && round->outbox->claims_carefully;
}

static void name_rows(const struct round *round, char name[32])
{
    const struct claim_request *request = round->request;
    const char *kind = request->parked ? "_parked" : request->refused ? "_refused" : "";

    if (is_claim(round))
        (void)snprintf(name, 32, "%sclaim%s_%d", lean(round), kind,
                       request->refused ? round->outbox->refused_level : round->outbox->level);
    else if (round->rows == ROUND_FOUND_ROW)
        (void)snprintf(name, 32, "lock_row");
    else
        (void)snprintf(name, 32, "first%s_row", kind);
}

static int queue_rows(struct round *round, const char *name, struct error *error)
{
    const struct claim_request *request = round->request;
    struct outbox *outbox = round->outbox;
    uint64_t away = htobe64(request->away);
    uint64_t payload_max = htobe64((uint64_t)request->payload_max);
    struct array params[2 + SLICE_LOCK_BOUND_PARAMS] = {
        {.bytes = (char *)&away, .len = sizeof away},
        {.bytes = (char *)&payload_max, .len = sizeof payload_max}};
    struct slice_lock_bounds bounds;
    int count = 2;

    if (round->rows == ROUND_FOUND_ROW) {
        const struct array row = {.bytes = (char *)round->batch->messages[0].row,
                                  .len = MESSAGE_ROW_BYTES};

        return session_queue(&outbox->session, name, 1, &row, true, error);
    }
    if (outbox->is_lean)
        return session_queue(&outbox->session, name, 0, NULL, true, error);
    if (claim_is_of_outbox(request) && outbox->options->order == ORDER_NONE &&
        table_has_integer_ids(&outbox->table)) {
        if (slice_lock_put_bounds(outbox->slices, round->batch, &bounds, &params[2], error) < 0)
            return -1;
        count += SLICE_LOCK_BOUND_PARAMS;
    }
    if (request->parked) {
        declined_array(&params[count],
                       batch_alloc(round->batch, declined_array_size(request->declined)),
                       request->declined);
        if (params[count++].bytes == NULL)
            return error_no_memory(error);
    }
    return session_queue(&outbox->session, name, count, params, true, error);
}

/* The columns of first_row, lock_row and their like. */
enum first_column {
    FIRST_ROW, /* tid, binary */
    FIRST_ID,
    FIRST_NOTE, /* this column and the next of refused rows, as in enum claim_column */
    FIRST_IS_SENT,
    FIRST_COLUMNS
};

static const char *const first_columns[FIRST_COLUMNS] = {
    [FIRST_ROW] = "relay_row",
    [FIRST_ID] = "id",
    [FIRST_NOTE] = "note",
    [FIRST_IS_SENT] = "is_sent",
};

static void add_first_row(struct round *round, const PGresult *answer)
{
    struct batch *batch = round->batch;
    struct message *message = batch_add(batch);

    memcpy(message->row, PQgetvalue(answer, 0, FIRST_ROW), sizeof message->row);
    message->id = batch_copy(batch, PQgetvalue(answer, 0, FIRST_ID),
                             (size_t)PQgetlength(answer, 0, FIRST_ID));
    message->unreadable = true;
    if (round->request->refused) {
        message->note = wire_int8(PQgetvalue(answer, 0, FIRST_NOTE));
        message->is_sent = PQgetvalue(answer, 0, FIRST_IS_SENT)[0] != 0;
    }
}

/* The rows of a claim stay in the batch, whose messages will point into them. */
static int read_rows(struct round *round, PGresult *answer, struct error *error)
{
    fill_keep(round->batch, answer);
    if (is_claim(round))
        return fill_check(round->batch, error);
    if (wire_check_columns(answer, first_columns,
                           round->request->refused ? FIRST_COLUMNS : FIRST_NOTE, error) < 0)
        return -1;
    round->batch->count = 0;
    if (PQntuples(answer) > 0)
        add_first_row(round, answer);
    return 0;
}

/* ---- facts about the claim ---- */

enum claimed_column {
    CLAIMED_FLUSHED,  /* bool: everything that the claim saw is on disk; NULL: it saw no row */
    CLAIMED_XACT,     /* xid8, binary: the transaction, for pg_xact_status() */
    CLAIMED_BEGAN,    /* timestamptz, binary: when the transaction began */
    CLAIMED_DONE,     /* timestamptz, binary: when the claim had returned its rows */
    CLAIMED_HIGH,     /* bool: the claim read from the high bounds; NULL: it read nothing */
    CLAIMED_PAUSES,   /* text: what is paused (source/pauses.h) */
    CLAIMED_TOKEN,    /* timestamptz, binary: another one when a table may have changed */
    CLAIMED_ERA,      /* text: what the positions are about; NULL: ids have begun anew since */
    CLAIMED_REFUSED,  /* bool: a note is due; NULL: there is no note (refused.h) */
    CLAIMED_PARKED,   /* bool: more rows with keys are parked than a lean claim looks at */
    CLAIMED_OLDEST,   /* xid8, binary: all before it had ended before the slices were locked */
    CLAIMED_STANDBYS, /* int4, binary: another one when the WAL must reach other standbys */
    CLAIMED_COLUMNS
};

static const char *const claimed_columns[CLAIMED_COLUMNS] = {
    [CLAIMED_FLUSHED] = "flushed", [CLAIMED_XACT] = "xact",     [CLAIMED_BEGAN] = "began",
    [CLAIMED_DONE] = "done",       [CLAIMED_HIGH] = "high",     [CLAIMED_PAUSES] = "pauses",
    [CLAIMED_TOKEN] = "token",     [CLAIMED_ERA] = "era",       [CLAIMED_REFUSED] = "refused",
    [CLAIMED_PARKED] = "parked",   [CLAIMED_OLDEST] = "oldest", [CLAIMED_STANDBYS] = "standbys",
};

static int queue_binary(struct round *round, const char *name, struct error *error)
{
    return session_queue(&round->outbox->session, name, 0, NULL, true, error);
}

static bool is_true(const PGresult *answer, int column)
{
    return !PQgetisnull(answer, 0, column) && PQgetvalue(answer, 0, column)[0] != 0;
}

static int read_claimed(struct round *round, PGresult *answer, struct error *error)
{
    struct outbox *outbox = round->outbox;
    int32_t standbys;

    if (wire_check_columns(answer, claimed_columns, CLAIMED_COLUMNS, error) < 0)
        return -1;
    outbox->flushed = is_true(answer, CLAIMED_FLUSHED);
    outbox->xact =
        PQgetisnull(answer, 0, CLAIMED_XACT) ? 0 : wire_int8(PQgetvalue(answer, 0, CLAIMED_XACT));
    outbox->server_work_ms = (wire_int8(PQgetvalue(answer, 0, CLAIMED_DONE)) -
                              wire_int8(PQgetvalue(answer, 0, CLAIMED_BEGAN))) /
                             1000;
    slice_lock_note_high(outbox->slices, is_true(answer, CLAIMED_HIGH));
    outbox->has_refused = !PQgetisnull(answer, 0, CLAIMED_REFUSED);
    outbox->refused_are_due = is_true(answer, CLAIMED_REFUSED);
    outbox->has_parked = is_true(answer, CLAIMED_PARKED);
    outbox->oldest = PQgetisnull(answer, 0, CLAIMED_OLDEST)
                         ? 0
                         : wire_int8(PQgetvalue(answer, 0, CLAIMED_OLDEST));
    standbys = wire_int4(PQgetvalue(answer, 0, CLAIMED_STANDBYS));
    /* xmin has 32 bits: what is far behind could seem to be ahead. */
    if (standbys != outbox->standbys || outbox->oldest == 0 ||
        outbox->oldest - outbox->durable_before > INT64_C(1) << 30)
        outbox->durable_before = 0;
    outbox->standbys = standbys;
    outbox->token = wire_int8(PQgetvalue(answer, 0, CLAIMED_TOKEN));
    outbox->ids_go_on = !PQgetisnull(answer, 0, CLAIMED_ERA) &&
                        strcmp(PQgetvalue(answer, 0, CLAIMED_ERA), outbox->era) == 0;
    return outbox_keep_pauses(outbox, answer, CLAIMED_PAUSES, error);
}

/* ---- the steps ---- */

/* The statement that locks the slices comes before the claim: it determines which bounds the claim
 * uses. The slices stay locked when refused_settle() goes back to `keep_slices`. */
static const struct step steps[] = {
    {.statement = "begin", .status = PGRES_COMMAND_OK},
    {.statement = "lock", .status = PGRES_COMMAND_OK, .fails = FAILS_OF_TABLE},
    {.name = name_slices,
     .applies = has_slices,
     .queue = queue_slices,
     .status = PGRES_TUPLES_OK,
     .read = read_slices,
     .fails = FAILS_OF_TOPIC},
    {.statement = "end_notes_of_none", .applies = is_of_refused, .status = PGRES_TUPLES_OK},
    {.statement = "keep_slices", .status = PGRES_COMMAND_OK},
    {.statement = "hurry", .applies = is_claim, .status = PGRES_COMMAND_OK},
    {.statement = "careful", .applies = is_careful, .status = PGRES_COMMAND_OK},
    {.name = name_rows,
     .queue = queue_rows,
     .status = PGRES_TUPLES_OK,
     .read = read_rows,
     .keeps_answer = true,
     .fails = FAILS_OF_ROW},
    {.statement = "claimed",
     .applies = is_claim,
     .queue = queue_binary,
     .status = PGRES_TUPLES_OK,
     .read = read_claimed},
};

enum { STEPS = sizeof steps / sizeof *steps };

/* Whether a claim may leave out what rows rarely need (lean_rows.sql). What it cannot know before,
 * rows that were refused meanwhile, round_read() finds, and fill_batch() a large row or one whose
 * key is parked. */
static bool may_be_lean(struct outbox *outbox, const struct claim_request *request)
{
    if (outbox->rich_claims > 0)
        outbox->rich_claims--;
    return outbox->options->order == ORDER_KEY && claim_is_of_outbox(request) &&
           request->away == 0 && !outbox->table.is_computed && !outbox->claims_carefully &&
           !outbox->has_refused && !outbox->has_parked && outbox->rich_claims == 0 &&
           sql_claim_limit(outbox->options, outbox->level) > 1 &&
           !slice_lock_has_holders(outbox->slices);
}

int round_queue(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                enum round_rows rows, struct error *error)
{
    struct round round = {outbox, batch, request, rows};

    outbox->sent_at_ms = clock_boot_ms();
    if (rows == ROUND_CLAIM)
        outbox->claims_carefully = clock_left_ms(outbox->careful_until_ms) > 0;
    outbox->is_lean = rows == ROUND_CLAIM && may_be_lean(outbox, request);
    for (int i = 0; i < STEPS; i++) {
        const struct step *step = &steps[i];
        char name[32];

        if (step->applies != NULL && !step->applies(&round))
            continue;
        if (step->statement != NULL)
            (void)snprintf(name, sizeof name, "%s", step->statement);
        else
            step->name(&round, name);
        if ((step->queue != NULL
                 ? step->queue(&round, name, error)
                 : session_queue(&outbox->session, name, 0, NULL, false, error)) < 0)
            return -1;
    }
    return 0;
}

/* Whether the tables have changed: ROUND_CHANGED or ROUND_READ; ROUND_FAILED: it is not known. */
static enum round_result look_again(struct outbox *outbox, struct error *error)
{
    PGresult *result = session_run(&outbox->session, "shape", 0, NULL, error);
    bool changed = result != NULL && strcmp(PQgetvalue(result, 0, 0), outbox->table.shape) != 0;

    PQclear(result);
    return result == NULL ? ROUND_FAILED : (changed ? ROUND_CHANGED : ROUND_READ);
}

/* The token is older than the shape that is read after it: a change in between makes another. */
static enum round_result judge_claim(struct outbox *outbox, struct error *error)
{
    enum round_result result = ROUND_READ;

    if (!outbox->ids_go_on)
        return ROUND_CHANGED;
    if (outbox->token != outbox->known_token)
        result = look_again(outbox, error);
    if (result != ROUND_READ)
        return result;
    outbox->known_token = outbox->token;
    return outbox->is_lean && (outbox->has_refused || outbox->has_parked) ? ROUND_TOO_LEAN
                                                                          : ROUND_READ;
}

/* After a failed statement the session stays open, with its prepared statements, if the failure is
 * about a lock or about the values of a row. The cause may be that a table has changed: then the
 * error is no news. */
static enum round_result note_failure(struct round *round, const struct step *step,
                                      struct error *error)
{
    struct outbox *outbox = round->outbox;
    enum failure failure = outbox->session.failure;
    bool of_row = step->fails == FAILS_OF_ROW;
    struct error other;

    if (of_row && failure == FAILURE_LOCKED && claim_is_of_outbox(round->request))
        slice_lock_postpone(outbox->slices);
    if (outbox->session.conn == NULL)
        return ROUND_FAILED;
    if (session_roll_back(&outbox->session, &other) < 0) {
        *error = other;
        return ROUND_FAILED;
    }
    if (failure != FAILURE_LOCKED && look_again(outbox, &other) == ROUND_CHANGED)
        return ROUND_CHANGED;
    table_name_holders(&outbox->table, &outbox->session, error);
    if (failure == FAILURE_OTHER)
        session_close(&outbox->session);
    if (!failure_is_of_row(failure) || step->fails == FAILS_OF_TABLE)
        return ROUND_FAILED;
    if (of_row)
        return ROUND_UNREADABLE;
    return claim_computes_topics(round->request) ? ROUND_UNROUTABLE : ROUND_FAILED;
}

static enum round_result read_step(struct round *round, const struct step *step,
                                   struct error *error)
{
    struct session *session = &round->outbox->session;
    PGresult *answer = step->fails != FAILS_NEVER ? session_answer(session, step->status, error)
                                                  : session_expect(session, step->status, error);
    int status;

    if (answer == NULL)
        return step->fails != FAILS_NEVER ? note_failure(round, step, error) : ROUND_FAILED;
    status = step->read != NULL ? step->read(round, answer, error) : 0;
    if (!step->keeps_answer)
        PQclear(answer);
    return status == 0 ? ROUND_READ : ROUND_FAILED;
}

enum round_result round_read(struct outbox *outbox, struct batch *batch,
                             const struct claim_request *request, enum round_rows rows,
                             struct error *error)
{
    struct round round = {outbox, batch, request, rows};

    outbox->session.in_flight = false;
    outbox->session.in_transaction = true;
    for (int i = 0; i < STEPS; i++) {
        enum round_result result = ROUND_READ;

        if (steps[i].applies == NULL || steps[i].applies(&round))
            result = read_step(&round, &steps[i], error);
        if (result != ROUND_READ)
            return result;
    }
    if (session_skip(&outbox->session, PGRES_PIPELINE_SYNC, error) < 0)
        return ROUND_FAILED;
    return is_claim(&round) ? judge_claim(outbox, error) : ROUND_READ;
}
