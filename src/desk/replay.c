/*
 * Sends rows again that have been sent already. Each row is copied into the parked table, due at
 * once, and relays send the copy like any parked row; the original row is not changed. The copy has
 * replayed_at, which its message has as a header and as a part of its message id for the broker.
 * With order = "key" the copies of a key are sent in the order of their ids, before rows of the key
 * that have not been sent yet.
 *
 * Rows are read in the order of their ids, a few thousand per step, so that the time of a statement
 * does not grow with the table. Each step commits, so copied rows are sent even if a later step
 * fails.
 */
#include "desk/run_state.h"

#include "base/clock.h"
#include "catalog/describe.h"
#include "catalog/sql_text.h"
#include "cli/terminal.h"
#include "pg/holders.h"
#include "source/pauses.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_DEFAULT 1000 /* rows a second */
#define STEP_ROWS_MAX 1000
#define LOOK_MS 20 /* for claims that are still open */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* The first signal lets the current step finish. A second one ends the program, and PostgreSQL
 * rolls the step back. */
static void hear_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

int desk_check_sent(struct desk *desk, struct error *error)
{
    struct admin *admin = desk->admin;

    if (outbox_keeps_sent(admin->options) && table_check_sent(&admin->table, error) < 0)
        return -1;
    /* A copy in the parked table would count as a sign that a relay has used the outbox. */
    if (outbox_keeps_sent(admin->options))
        return admin_foresee_adoption(admin, error) == 0 ? 0 : -1;
    (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                    "replay needs sent rows: with on_sent = \"delete\" they do not exist any more");
    return error_hint(error, "set [outbox] on_sent = \"mark\"; rows sent from then on can be"
                             " replayed until the retention ends");
}

/* Waits until the rows copied so far are within the rate. */
static void pace(int64_t began_ms, int64_t replayed, int64_t rate)
{
    int64_t left_ms;

    while (interrupted == 0 && (left_ms = clock_left_ms(began_ms + replayed * 1000 / rate)) > 0)
        (void)poll(NULL, 0, left_ms < 100 ? (int)left_ms : 100);
}

/* Copies rows in one transaction. Two concurrent replays would give their copies the same numbers.
 * 1: there may be more; 0: done; -1: failed. */
static int copy_some(struct desk *desk, struct error *error)
{
    struct session *session = &desk->admin->session;
    struct error ignored;
    PGresult *result = NULL;
    const char *next;
    const char *last;

    if (session_execute(session, "BEGIN", error) == 0 &&
        holders_lock_advisory(session, "7246113", "2", error) == 0)
        result = desk_ask(desk, error);
    if (result == NULL || session_execute(session, "COMMIT", error) < 0) {
        PQclear(result);
        if (session->conn != NULL)
            (void)session_execute(session, "ROLLBACK", &ignored);
        return -1;
    }
    desk->total += strtoll(show_value(result, 0, "desk_count"), NULL, 10);
    next = show_value(result, 0, "desk_next");
    last = show_value(result, 0, "desk_last");
    if (desk_set(desk, "place", next, error) < 0 ||
        (last != NULL && desk_set(desk, "last", last, error) < 0)) {
        PQclear(result);
        return -1;
    }
    PQclear(result);
    return desk_value(desk, "place") != NULL;
}

/* NULL with *error set. */
static PGresult *find_claims(struct admin *admin, const char *among, struct error *error)
{
    const char *params[1] = {among};

    return admin_query(admin, statement_open_claims, 1, params, error);
}

int desk_wait_for_claims(struct admin *admin, struct error *error)
{
    int64_t until_ms =
        clock_now_ms() + admin->options->publish_timeout_ms + OUTBOX_SLACK_MS + LOOK_MS;
    PGresult *result = find_claims(admin, NULL, error);
    char *open = result != NULL ? strdup(PQgetvalue(result, 0, 0)) : NULL;
    int left = result != NULL ? (int)strtol(PQgetvalue(result, 0, 1), NULL, 10) : -1;

    if (result != NULL && open == NULL)
        left = error_no_memory(error);
    PQclear(result);
    while (left > 0 && clock_left_ms(until_ms) > 0) {
        (void)poll(NULL, 0, LOOK_MS);
        result = find_claims(admin, open, error);
        left = result != NULL ? (int)strtol(PQgetvalue(result, 0, 1), NULL, 10) : -1;
        PQclear(result);
    }
    free(open);
    return left;
}

/* A transaction that settled the previous row of a key while its copy was made has not seen the
 * copy, and so has not made it due. */
static int finish(struct desk *desk, struct error *error)
{
    struct admin *admin = desk->admin;

    if (desk->total == 0 || !sql_keeps_order(&admin->table, admin->options))
        return 0;
    return desk_wait_for_claims(admin, error) < 0 ? -1 : admin_adopt_waiting(admin, error);
}

static int64_t number_of(const struct desk *desk, const char *name, int64_t otherwise)
{
    const char *value = desk_value(desk, name);

    return value != NULL ? strtoll(value, NULL, 10) : otherwise;
}

/* 0: done; 1: interrupted; -1: failed. */
static int copy_all(struct desk *desk, int64_t total, struct error *error)
{
    int64_t rate = number_of(desk, "rate", RATE_DEFAULT);
    int64_t began_ms = clock_now_ms();
    struct progress progress;
    char step[32];
    int status;

    (void)snprintf(step, sizeof step, "%" PRId64, rate < STEP_ROWS_MAX ? rate : STEP_ROWS_MAX);
    status = desk_set(desk, "place", NULL, error) < 0 || desk_set(desk, "step", step, error) < 0
                 ? -1
                 : 1;
    desk->total = 0;
    progress_begin(&progress, "replayed", total);
    while (status > 0 && interrupted == 0) {
        status = copy_some(desk, error);
        progress_show(&progress, desk->total,
                      total > desk->total ? (total - desk->total) * 1000 / rate : 0);
        if (status > 0)
            pace(began_ms, desk->total, rate);
    }
    progress_end(&progress);
    return status;
}

static int fail(const struct desk *desk, const char *last, struct error *error)
{
    struct error cause = *error;

    if (desk->total == 0)
        return -1;
    return error_set(error, cause.kind, cause.origin,
                     "%.500s (%" PRId64 " row%s replayed, up to id %.64s)", cause.text, desk->total,
                     PLURAL(desk->total), last);
}

int desk_replay(struct desk *desk, bool by_command, struct error *error)
{
    int64_t total = by_command ? desk->total : number_of(desk, "expected", -1);
    const char *last;
    int status;

    if (by_command)
        hear_interrupts();
    status = copy_all(desk, total, error);
    last = desk_value(desk, "last") != NULL ? desk_value(desk, "last") : "";
    if (status < 0)
        return fail(desk, last, error);
    if (by_command)
        show_count(text_of("replayed N"), desk->total);
    if (finish(desk, error) < 0)
        return -1;
    return status == 0
               ? 0
               : error_set(error, ERROR_TRANSIENT, ERROR_SELF,
                           "interrupted after %" PRId64 " of %" PRId64 " row%s, up to id %.64s",
                           desk->total, total, PLURAL(total), last);
}
