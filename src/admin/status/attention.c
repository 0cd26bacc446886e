/* The part of status that lists what needs attention, each with the command or SQL that fixes it.
 */
#include "admin/admin_session.h"
#include "admin/status/relays.h"

#include "base/hint.h"
#include "message/remedy.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TROUBLE_MS 2000 /* a lane that fails for less is not named */
#define BUSY_S 5        /* nor is one that has been in a step for less */
#define STILL_S 30      /* nor are rows that have waited for less while no lane was */

static struct findings *of(struct status *status)
{
    return &status->attention;
}

int status_note_unknown(const struct admin *admin, struct status *status, const char *figure,
                        const struct error *error)
{
    if (admin->session.conn == NULL)
        return -1;
    finding_fix(findings_add(of(status), FINDING_WARNING, "unknown: %s: %s", figure, error->text),
                "%s", error->hint);
    status->unknown++;
    return 0;
}

static bool is_self(const struct status_query *query, const char *relay)
{
    return query->self != NULL && strcmp(query->self, relay) == 0;
}

static bool sink_is_paused(const struct status *status, const char *sink, size_t len)
{
    for (int i = 0; i < status->pauses->count; i++) {
        const struct pause_note *pause = &status->pauses->items[i];

        if (strcmp(pause->what, pause_word(PAUSE_SINK)) == 0 && strlen(pause->name) == len &&
            memcmp(pause->name, sink, len) == 0)
            return true;
    }
    return false;
}

static bool a_sink_is_away(const struct status *status)
{
    for (int i = 0; i < status->sink_count; i++)
        if (strcmp(status->sinks[i].state, "away") == 0)
            return true;
    return false;
}

/* A relay alone does not send rows that are held, so they are not counted here. What keeps this
 * command from reading figures may keep a relay from answering. */
static void note_relays(const struct status_query *query, struct status *status)
{
    int64_t unsent = status->backlog + status->parked - status->held;
    bool is_bound = status->backlog_is_bound || status->parked_is_bound;

    if (status->relays == 0 && status->backlog >= 0 && status->parked >= 0 && unsent > 0) {
        finding_fix(findings_add(of(status), FINDING_ERROR,
                                 "no relay runs, and %" PRId64 "%s to be sent", unsent,
                                 is_bound      ? " or more rows are"
                                 : unsent == 1 ? " row is"
                                               : " rows are"),
                    "outbox-relay run");
    }
    for (int i = 0; i < status->process_count; i++)
        if (status->has_asked && !status->processes[i].answers &&
            !is_self(query, status->processes[i].name)) {
            bool is_alone = status->unknown == 0;

            finding_fix(findings_add(of(status), FINDING_WARNING, "relay %s does not answer: it %s",
                                     status->processes[i].name,
                                     is_alone ? "may hang" : "may wait for the database, too"),
                        "%s", is_alone ? "read its log; start it anew when that says nothing" : "");
        }
}

/* What is over within a moment needs nobody. Sinks that are away are named by themselves. */
static bool is_named(const struct status_query *query, const struct status *status,
                     const struct status_trouble *trouble)
{
    return status->taken_ms - trouble->since_ms >= TROUBLE_MS &&
           !(trouble->of_broker && a_sink_is_away(status)) && !is_self(query, trouble->relay);
}

/* Of relays that say the same, the first is named. */
static void note_trouble(const struct status_query *query, struct status *status, int at)
{
    const struct status_trouble *trouble = &status->troubles[at];
    int64_t for_s = (status->taken_ms - trouble->since_ms) / 1000;
    char others[48] = "";
    int alike = 0;

    for (int i = 0; i < status->trouble_count; i++)
        if (is_named(query, status, &status->troubles[i]) &&
            strcmp(status->troubles[i].error, trouble->error) == 0) {
            if (i < at)
                return;
            alike++;
        }
    if (alike > 1)
        (void)snprintf(others, sizeof others, " and %d others", alike - 1);
    finding_fix(findings_add(of(status), FINDING_ERROR,
                             "relay %s, %s%s: no progress for %" PRId64 " s, %" PRId64
                             " failed tries: %s",
                             trouble->relay, trouble->lanes, others, for_s > 0 ? for_s : 0,
                             trouble->failures, trouble->error),
                "%s", trouble->fix);
}

static void note_troubles(const struct status_query *query, struct status *status)
{
    for (int i = 0; i < status->trouble_count; i++)
        if (is_named(query, status, &status->troubles[i]))
            note_trouble(query, status, i);
}

/* When a relay sent a row last, or was started. */
static int64_t last_sent_ms(const struct status *status)
{
    int64_t last_ms = 0;

    for (int i = 0; i < status->process_count; i++) {
        const struct status_relay *relay = &status->processes[i];
        int64_t at_ms = relay->sent_at_ms > relay->since_ms ? relay->sent_at_ms : relay->since_ms;

        if (relay->answers && at_ms > last_ms)
            last_ms = at_ms;
    }
    return last_ms;
}

static const struct status_lane *busiest_lane(const struct status *status)
{
    const struct status_lane *found = NULL;

    for (int i = 0; i < status->lane_count; i++) {
        const struct status_lane *lane = &status->lane_list[i];

        if (strcmp(lane->state, "idle") != 0 && (found == NULL || lane->state_s > found->state_s))
            found = lane;
    }
    return found;
}

/* Of sinks that are paused or away: what is said of these says why the rows wait. Those of a paused
 * topic or key are parked. */
static int64_t rows_of_held_sinks(const struct status *status)
{
    int64_t rows = 0;

    for (int i = 0; i < status->sink_count; i++) {
        const struct status_sink *sink = &status->sinks[i];

        if (strcmp(sink->state, "away") == 0 ||
            sink_is_paused(status, sink->name, strlen(sink->name)))
            rows += sink->rows >= 0 ? sink->rows : status->backlog;
    }
    return rows;
}

/* Rows wait, none is sent, and nothing says why. */
static void note_standstill(struct status *status)
{
    const struct status_lane *lane = busiest_lane(status);
    int64_t last_ms = last_sent_ms(status);
    int64_t still_s = (status->taken_ms - last_ms) / 1000;
    bool is_busy = lane != NULL && lane->state_s >= BUSY_S;

    if (status->backlog <= status->refused + rows_of_held_sinks(status) || last_ms == 0 ||
        still_s < (is_busy ? BUSY_S : STILL_S) ||
        (!is_busy && status->backlog_oldest_s < STILL_S) || status->trouble_count > 0)
        return;
    finding_fix(is_busy
                    ? findings_add(of(status), FINDING_ERROR,
                                   "rows wait, and none has been sent for %" PRId64
                                   " s: lane %d of relay %s has been %s for %.0f s",
                                   still_s, lane->number, lane->relay, lane->state, lane->state_s)
                    : findings_add(of(status), FINDING_ERROR,
                                   "rows wait, and none has been sent for %" PRId64
                                   " s; no lane says why",
                                   still_s),
                "SELECT l.pid, application_name, state, relation::regclass, mode, granted,"
                " pg_blocking_pids(l.pid) FROM pg_locks l LEFT JOIN pg_stat_activity USING (pid)"
                " WHERE relation IS NOT NULL AND mode <> 'AccessShareLock';");
}

/* Nothing waits for such a relay, because the others send its rows; so nothing else shows it. */
static void note_cut_off(struct status *status, int sink)
{
    const char *name = status->sinks[sink].name;
    bool is_known = false;

    for (int i = 0; i < status->process_count; i++)
        if (status->processes[i].away >> sink & 1) {
            is_known = true;
            finding_fix(findings_add(of(status), FINDING_WARNING,
                                     "relay %s cannot publish to sink %s, other relays can",
                                     status->processes[i].name, name),
                        "outbox-relay check, where that relay runs");
        }
    if (!is_known) /* that relay did not answer */
        finding_fix(findings_add(of(status), FINDING_WARNING,
                                 "sink %s is away for some relays, other relays can publish to it",
                                 name),
                    "outbox-relay check, where each relay runs");
}

static void note_sinks(struct status *status)
{
    for (int i = 0; i < status->sink_count; i++) {
        const struct status_sink *sink = &status->sinks[i];

        if (sink_is_paused(status, sink->name, strlen(sink->name)))
            continue; /* nobody tries it */
        if (strcmp(sink->state, "away") != 0) {
            if (sink->error[0] == '\0')
                continue;
            finding_fix(
                findings_add(of(status), FINDING_WARNING, "sink %s %s", sink->name, sink->error),
                "nats consumer add, to its stream");
            continue;
        }
        if (sink->relays_up > 0) {
            note_cut_off(status, i);
            continue;
        }
        finding_fix(findings_add(of(status), FINDING_ERROR,
                                 "sink %s cannot be published to: its rows wait, none is lost",
                                 sink->name),
                    "outbox-relay check");
    }
}

/* "SINK/DESTINATION"; and the rows that wait behind another one of their key, which may be dead. */
static int note_parked(struct admin *admin, struct status *status, struct error *error)
{
    char rows_max[24];
    const char *params[1] = {rows_max};
    PGresult *result;

    if (status->parked < 0)
        return 0;
    (void)snprintf(rows_max, sizeof rows_max, "%" PRId64, status->parked);
    result = admin_query(admin, statement_waiting_rows, 1, params, error);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        const char *waits_for = PQgetvalue(result, row, 0);
        const char *count = PQgetvalue(result, row, 1);
        const char *why = PQgetvalue(result, row, 2);
        const char *rows = status->parked_is_bound   ? "or more rows wait"
                           : strcmp(count, "1") == 0 ? "row waits"
                                                     : "rows wait";
        const struct remedy_names names = {.outbox = admin->options->table,
                                           .stays = admin->options->park != NULL};
        char buffer[REMEDY_BYTES];
        const char *remedy = remedy_write(buffer, sizeof buffer, why, &names);

        if (sink_is_paused(status, waits_for, strcspn(waits_for, "/")))
            continue;
        if (waits_for[0] == '\0') {
            if (status->dead <= 0)
                continue; /* the earlier rows are tried again by themselves */
            finding_fix(findings_add(of(status), FINDING_WARNING,
                                     "%s %s behind an earlier row of the same key", count, rows),
                        "outbox-relay dead list");
            continue;
        }
        finding_fix(findings_add(of(status), FINDING_WARNING, "%s %s for %s: %s", count, rows,
                                 waits_for, why),
                    "%s", remedy != NULL ? remedy : REMEDY_CHECK);
    }
    PQclear(result);
    return 0;
}

/* Of the rows that PostgreSQL refuses, the one that has waited longest. */
static int note_refused(struct admin *admin, struct status *status, struct error *error)
{
    const char *why, *row;
    struct finding *finding;
    PGresult *result;

    result = admin_query(admin, statement_refused_rows, 0, NULL, error);
    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0) {
        status->refused = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
        row = PQgetvalue(result, 0, 1);
        why = PQgetvalue(result, 0, 2);
        if (status->refused == 1)
            finding =
                findings_add(of(status), FINDING_ERROR, "row %s and its key wait: %s", row, why);
        else
            finding = findings_add(of(status), FINDING_ERROR,
                                   "%" PRId64 " rows and their keys wait, first row %s: %s",
                                   status->refused, row, why);
        finding_fix(finding, "%s", hint_find("settle", text_of(why)));
    }
    PQclear(result);
    return 0;
}

static void note_dead(struct status *status)
{
    if (status->dead <= 0)
        return;
    finding_fix(
        findings_add(
            of(status), FINDING_ERROR,
            status->dead == 1 ? "%" PRId64 " row is dead: it stays until you retry or drop it"
            : status->dead_is_bound
                ? "%" PRId64 " or more rows are dead: they stay until you retry or drop them"
                : "%" PRId64 " rows are dead: they stay until you retry or drop them",
            status->dead),
        "outbox-relay dead list");
}

static void note_pauses(struct status *status)
{
    for (int i = 0; i < status->pauses->count; i++) {
        const struct pause_note *pause = &status->pauses->items[i];
        bool has_reason = pause->reason[0] != '\0';
        struct finding *finding = findings_add(
            of(status), FINDING_WARNING, "%s %s is paused since %s by role %s%s%s", pause->what,
            pause->name, pause->since, pause->by, has_reason ? ": " : "", pause->reason);

        /* A quote in the name could end the quotes in the shell into which the command is pasted.
         */
        if (strchr(pause->name, '\'') == NULL)
            finding_fix(finding, "outbox-relay resume %s '%s'", pause->what, pause->name);
        else
            finding_fix(finding, "outbox-relay resume %s NAME", pause->what);
    }
}

static void note_slices(const struct admin *admin, struct status *status)
{
    struct error error;

    if (admin_check_slices(admin, &error) == 0)
        return;
    finding_fix(findings_add(of(status), FINDING_ERROR, "events of some slices are not sent: %s",
                             error.text),
                "%s", error.hint);
}

int status_fill_attention(struct admin *admin, const struct status_query *query,
                          struct status *status, struct error *error)
{
    note_relays(query, status);
    relays_compare(status, NULL, NULL, of(status));
    note_troubles(query, status);
    note_standstill(status);
    note_sinks(status);
    note_pauses(status);
    note_dead(status);
    note_slices(admin, status);
    if ((inspect_losses(admin, FINDING_ERROR, of(status), &status->losses, error) < 0 &&
         status_note_unknown(admin, status, "what brokers have lost", error) < 0) ||
        (note_refused(admin, status, error) < 0 &&
         status_note_unknown(admin, status, "rows that PostgreSQL refuses", error) < 0) ||
        (note_parked(admin, status, error) < 0 &&
         status_note_unknown(admin, status, "what rows wait for", error) < 0) ||
        (inspect_rows_without_id(admin, of(status), error) < 0 &&
         status_note_unknown(admin, status, "rows without an id", error) < 0) ||
        (inspect_holders(admin, HOLDERS_LONG_S, of(status), error) < 0 &&
         status_note_unknown(admin, status, "who holds VACUUM up", error) < 0))
        return -1;
    return 0;
}
