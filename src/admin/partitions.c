/*
 * The partitions of an outbox with on_sent = "position": those whose rows were sent long ago are
 * dropped, and others are made ahead of the ids.
 *
 * A partition is dropped in one transaction, of one relay at a time. It locks the slices, so that
 * no lane claims or parks, and the partition, so that nobody uses it any more. Then one query looks
 * at each of its rows. An INSERT that has drawn an id of the partition and has not come to it yet
 * holds a lock on the outbox: it ends before the DROP, or the DROP gives way. An INSERT waits for
 * the DROP no longer than drop_partition.sql says; when the lock cannot be had by then, the
 * partition is emptied, for which no INSERT waits, and dropped in another round.
 */
#include "admin/admin_session.h"

#include "base/log.h"
#include "catalog/partitions.h"
#include "catalog/schema.h"
#include "pg/holders.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MADE_MAX 20  /* partitions in a round */
#define NAMES_MAX 20 /* that are tried for one */
#define USED_MAX 3   /* that somebody uses, which lanes wait for in a round */

/* Of this outbox; other advisory locks are those of schema.h and notify.h. */
#define TURN "SELECT pg_catalog.pg_advisory_xact_lock(7246116, {outbox_oid}::oid::int)"

enum { FAILED = -1, NOT_SENT = -2, NO_TURN = -3 };

static void roll_back(struct admin *admin)
{
    struct error other;

    if (admin->session.conn != NULL)
        (void)session_execute(&admin->session, "ROLLBACK", &other);
}

/* A lock, or a scan of the default partition, would take too long now. */
static bool is_busy(const struct error *error)
{
    return error_is_sqlstate(error, "55P03") || error_is_sqlstate(error, "57014");
}

/* Another relay was faster. */
static bool is_gone(const struct error *error)
{
    return error_is_sqlstate(error, "42P01");
}

/* One relay after the other: no lane claims from the slices that one has locked while it waits for
 * the others. A commit waits for no standby while others wait for its locks. */
static int begin(struct admin *admin, struct error *error)
{
    PGresult *turn = NULL;

    if (session_execute(&admin->session, "BEGIN; SET LOCAL synchronous_commit = local", error) == 0)
        turn = admin_query(admin, TURN, 0, NULL, error);
    PQclear(turn);
    return turn != NULL ? admin_execute(admin, statement_lock_all_slices, error) : -1;
}

/* Locks the partition. Returns how many rows it has; NOT_SENT; or FAILED with *error set. */
static int64_t prove(struct admin *admin, const char *age, struct error *error)
{
    const char *params[1] = {age};
    PGresult *result;
    int64_t rows = NOT_SENT;

    if (admin_execute(admin, statement_lock_partition, error) < 0)
        return FAILED;
    result = admin_query(admin, statement_partition_is_sent, 1, params, error);
    if (result == NULL)
        return FAILED;
    if (strcmp(PQgetvalue(result, 0, 0), "1") == 0 && strcmp(PQgetvalue(result, 0, 2), "0") == 0)
        rows = strtoll(PQgetvalue(result, 0, 1), NULL, 10);
    PQclear(result);
    return rows;
}

/* The positions are about the partitions that are there now. */
static int note(struct admin *admin, struct error *error)
{
    PGresult *notes;
    bool is_more = true;

    while (is_more) {
        notes = admin_query(admin, statement_note_partitions, 0, NULL, error);
        if (notes == NULL)
            return -1;
        is_more = partitions_say(notes);
        PQclear(notes);
    }
    return 0;
}

/* *waits: the outbox could not be locked, which is not tried again. */
static int drop_or_empty(struct admin *admin, bool has_rows, bool *waits, struct error *error)
{
    if (!*waits && admin_execute(admin, statement_drop_partition, error) < 0) {
        *waits = is_busy(error);
        if (!*waits || session_execute(&admin->session, "ROLLBACK TO relay_drop", error) < 0)
            return -1;
    }
    if (!*waits)
        return note(admin, error);
    return has_rows ? admin_execute(admin, statement_empty_partition, error) : 0;
}

/* Returns how many rows are gone; or no row is gone: NO_TURN where slices cannot be had, or what
 * prove() does. */
static int64_t drop(struct admin *admin, const char *age, bool *waits, struct error *error)
{
    int64_t rows = FAILED;

    if (begin(admin, error) < 0) {
        rows = is_busy(error) ? NO_TURN : FAILED;
        roll_back(admin);
        return rows;
    }
    if (note(admin, error) == 0)
        rows = prove(admin, age, error);
    if ((rows >= 0 && drop_or_empty(admin, rows > 0, waits, error) < 0) ||
        (rows != FAILED && session_execute(&admin->session, "COMMIT", error) < 0))
        rows = FAILED;
    if (rows == FAILED)
        roll_back(admin);
    return rows;
}

int admin_drop_partitions(struct admin *admin, const char *age,
                          bool (*is_over)(const void *closure), const void *closure,
                          struct purge *purge, struct error *error)
{
    PGresult *found = admin_query(admin, statement_partitions_to_drop, 1, &age, error);
    int status = found != NULL ? 0 : -1;
    bool waits = false;
    int used = 0;

    for (int row = 0; status == 0 && used < USED_MAX && row < PQntuples(found) && !is_over(closure);
         row++) {
        int64_t rows;

        if (waits && PQgetvalue(found, row, 1)[0] == 't')
            continue;
        admin->partition = PQgetvalue(found, row, 0);
        rows = drop(admin, age, &waits, error);
        if (rows >= 0) {
            purge->purged += rows;
            log_debug("partition %s, whose %" PRId64 " row%s were sent, is %s", admin->partition,
                      rows, PLURAL(rows), waits ? "empty" : "dropped");
        } else if (admin->session.conn == NULL) {
            status = -1;
        } else if (rows == NO_TURN || (rows == FAILED && is_busy(error))) {
            log_debug("partition %s is kept for now: %s", admin->partition, error->text);
            if (rows == NO_TURN)
                break;
            used++;
        } else if (rows == FAILED && !is_gone(error) && purge->refused++ == 0) {
            (void)snprintf(purge->row, sizeof purge->row, "%s", admin->partition);
            (void)snprintf(purge->why, sizeof purge->why, "%.500s", error->text);
            purge->fix = "";
        }
    }
    admin->partition = NULL;
    PQclear(found);
    return status;
}

/* ---- made ahead ---- */

/* The next partition, if one is lacking (*lacks). */
static int find_next(struct admin *admin, struct upkeep *ahead, bool *lacks, int64_t *from,
                     int64_t *to, struct error *error)
{
    char drawn[32];
    const char *params[1] = {ahead->drawn != 0 ? drawn : NULL};
    PGresult *next;

    (void)snprintf(drawn, sizeof drawn, "%" PRId64, ahead->drawn);
    next = admin_query(admin, statement_partition_to_make, 1, params, error);
    if (next == NULL)
        return -1;
    *lacks = PQntuples(next) > 0 && !PQgetisnull(next, 0, 0);
    if (*lacks) {
        *from = strtoll(PQgetvalue(next, 0, 0), NULL, 10);
        *to = strtoll(PQgetvalue(next, 0, 1), NULL, 10);
    }
    if (PQntuples(next) > 0)
        ahead->now = strtoll(PQgetvalue(next, 0, 2), NULL, 10);
    ahead->is_short = *lacks && strtol(PQgetvalue(next, 0, 3), NULL, 10) < PARTITIONS_FEW;
    PQclear(next);
    return 0;
}

/* Returns 1 when a table has that name. */
static int create(struct admin *admin, int64_t from, int64_t to, int taken, struct error *error)
{
    char *sql = schema_partition_sql(&admin->table, admin->options, from, to, taken);
    int status = sql == NULL ? error_no_memory(error)
                             : session_execute(&admin->session, "SAVEPOINT relay_name", error);

    if (status == 0)
        status = session_execute(&admin->session, sql, error);
    free(sql);
    if (status < 0 && error_is_sqlstate(error, "42P07"))
        status = session_execute(&admin->session, "ROLLBACK TO relay_name", error) < 0 ? -1 : 1;
    return status;
}

static int add(struct admin *admin, int64_t from, int64_t to, struct error *error)
{
    int status = admin_execute(admin, statement_own_partition, error) < 0 ? -1 : 1;

    for (int taken = 0; status > 0 && taken < NAMES_MAX; taken++)
        status = create(admin, from, to, taken, error);
    return status != 0 || session_execute(&admin->session, "RESET role", error) < 0
               ? -1
               : note(admin, error);
}

/* Another relay may have made it meanwhile. */
static int make(struct admin *admin, struct upkeep *ahead, struct error *error)
{
    int64_t from = 0;
    int64_t to = 0;
    bool lacks = false;

    if (begin(admin, error) == 0 && find_next(admin, ahead, &lacks, &from, &to, error) == 0 &&
        (!lacks || add(admin, from, to, error) == 0) &&
        session_execute(&admin->session, "COMMIT", error) == 0)
        return 0;
    roll_back(admin);
    return -1;
}

int admin_make_partitions(struct admin *admin, struct upkeep *ahead, struct error *error)
{
    int64_t from;
    int64_t to;
    bool lacks = admin->table.is_partitioned;
    int status = 0;

    for (int i = 0; lacks && status == 0 && i < MADE_MAX; i++) {
        status = find_next(admin, ahead, &lacks, &from, &to, error);
        if (status == 0 && lacks)
            status = make(admin, ahead, error);
    }
    ahead->drawn = ahead->now;
    if (status < 0 && admin->session.conn != NULL && is_busy(error)) {
        if (ahead->is_short && !ahead->is_told)
            log_event(LOG_WARN, LOG_FIELDS(.error = error->text),
                      "no partition can be made while transactions use table %s, and its ids come"
                      " to the end of those that there are",
                      admin->table.quoted);
        ahead->is_told = ahead->is_told || ahead->is_short;
        log_debug("a partition will be made later: %s", error->text);
        return 0;
    }
    ahead->is_told = false;
    return status;
}
