/* The part of status that lists what needs attention, each with the command or SQL that fixes it.
 */
#include "admin/admin_session.h"
#include "admin/status/relays.h"

#include "catalog/refused.h"
#include "message/remedy.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* A relay alone does not send rows that are held, so they are not counted here. */
static void note_relays(struct status *status)
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
        if (status->has_asked && !status->processes[i].answers) {
            finding_fix(findings_add(of(status), FINDING_WARNING,
                                     "relay %s does not answer: it may hang",
                                     status->processes[i].name),
                        "read its log; start it anew when that says nothing");
        }
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
        const char *remedy = remedy_for(why);

        if (waits_for[0] == '\0') {
            if (status->dead <= 0)
                continue; /* the earlier rows are tried again by themselves */
            finding_fix(findings_add(of(status), FINDING_WARNING,
                                     "%s %s behind an earlier row of the same key", count, rows),
                        "outbox-relay dead retry or dead drop of the dead row");
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
        finding_fix(finding, "%s", refused_remedy(why));
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
        "outbox-relay dead list, then dead retry ID or dead drop ID");
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

int status_fill_attention(struct admin *admin, struct status *status, struct error *error)
{
    note_relays(status);
    relays_compare(status, NULL, NULL, of(status));
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
