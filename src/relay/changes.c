/*
 * Times are those of the snapshots: milliseconds since the process began.
 *
 * A lane that probes a broker reports it as up once connected, and as away when the next publish
 * fails. So a peer counts as back only after it has been up for SETTLED_MS and owes no
 * acknowledgement, or has accepted messages.
 */
#include "relay/changes.h"

#include "base/log_limit.h"
#include "source/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIGURES_MS 60000
#define SETTLED_MS 3000
#define GAP_MS 3000
#define SILENT_MS 3000

void changes_init(struct changes *changes, const struct relay_options *options)
{
    *changes = (struct changes){.options = options};
}

static uint64_t sent_to(const struct relay_report *report, int peer)
{
    return report_totals(report, peer == REPORT_DATABASE ? REPORT_ALL : peer).sent;
}

/* "sink events", "the database". */
static const char *name_of(char out[80], const struct relay_report *report, int peer)
{
    if (peer == REPORT_DATABASE)
        (void)snprintf(out, 80, "the database");
    else
        (void)snprintf(out, 80, "sink %s", report->peers[peer].name);
    return out;
}

static const struct {
    const char *begins;
    const char *lasts;
    const char *ends;
    const char *was;
} words[] = {
    [OUTAGE_AWAY] = {"is away", "has been away", "is back", "was away"},
    [OUTAGE_REFUSES] = {"refuses the relay", "has refused the relay", "is back",
                        "refused the relay"},
    [OUTAGE_LOCKED] = {"has the relay wait for a lock", "has had the relay wait for a lock",
                       "has given the lock", "had the relay wait for a lock"},
};

static enum outage outage_of(const struct error *error, int peer)
{
    if (peer != REPORT_DATABASE || trouble_is_of_absence(error))
        return OUTAGE_AWAY;
    return error->cause == ERROR_LOCKED ? OUTAGE_LOCKED : OUTAGE_REFUSES;
}

/* The first failure is often a timeout that says less than the next one. */
static bool is_another_reason(struct peer_change *change, const char *reason)
{
    uint64_t hash = log_limit_hash(reason);

    for (int i = 0; i < change->reason_count; i++)
        if (change->reasons[i] == hash)
            return false;
    if (change->reason_count == CHANGE_REASONS)
        return false;
    change->reasons[change->reason_count++] = hash;
    return true;
}

static const char *remedy_of(const struct peer_change *change, const struct error *error)
{
    return error->hint[0] == '\0' && change->outage == OUTAGE_REFUSES ? source_check : error->hint;
}

static void log_away(struct changes *changes, const struct relay_report *report, int peer,
                     bool again)
{
    struct peer_change *change = &changes->peers[peer];
    const struct peer_report *now = &report->peers[peer];
    int64_t lasted_ms = report->up_for_ms - change->began_ms;
    char name[80];
    char lasted[40] = "";
    char lanes[48] = "";

    if (again)
        (void)snprintf(lasted, sizeof lasted, " for %" PRId64 " s", lasted_ms / 1000);
    if (again && now->lanes_away < report->lane_count)
        (void)snprintf(lanes, sizeof lanes, " (%d of %d lanes)", now->lanes_away,
                       report->lane_count);
    change->outage = outage_of(&now->error, peer);
    change->logged = true;
    change->logged_ms = report->up_for_ms;
    (void)is_another_reason(change, now->error.text);
    log_event(LOG_ERROR,
              LOG_FIELDS(.sink = peer != REPORT_DATABASE ? now->name : NULL,
                         .error = now->error.text, .hint = remedy_of(change, &now->error),
                         .since_ms = report->now_ms - lasted_ms),
              "%s %s%s%s%s", name_of(name, report, peer),
              again ? words[change->outage].lasts : words[change->outage].begins, lasted, lanes,
              peer != REPORT_DATABASE ? ": its rows wait" : "");
}

static void log_back(struct changes *changes, const struct relay_report *report, int peer)
{
    struct peer_change *change = &changes->peers[peer];
    const struct peer_report *now = &report->peers[peer];
    int64_t began_ms = report->now_ms - (report->up_for_ms - change->began_ms);
    int64_t lasted_ms = report->up_for_ms - now->state_for_ms - change->began_ms;
    char name[80];

    log_event(LOG_INFO,
              LOG_FIELDS(.sink = peer != REPORT_DATABASE ? now->name : NULL, .since_ms = began_ms),
              "%s %s after %" PRId64 " s", name_of(name, report, peer), words[change->outage].ends,
              (lasted_ms > 0 ? lasted_ms + 999 : 0) / 1000);
}

static bool is_recent(const struct relay_report *report, int64_t logged_ms)
{
    return logged_ms != 0 && report->up_for_ms - logged_ms < LOG_LIMIT_MS;
}

static void note_away(struct changes *changes, const struct relay_report *report, int peer)
{
    struct peer_change *change = &changes->peers[peer];
    const struct peer_report *now = &report->peers[peer];

    if (!change->away) {
        change->away = true;
        change->logged = false;
        change->began_ms = report->up_for_ms - now->state_for_ms;
        change->sent = sent_to(report, peer);
        change->reason_count = 0;
        change->outage = outage_of(&now->error, peer);
    }
    if (!is_recent(report, change->logged_ms) ||
        (change->logged && is_another_reason(change, now->error.text)))
        log_away(changes, report, peer, change->logged);
}

/* A connection was lost and is there again, all since the last look. The line of a gap keeps none
 * of an outage back. */
static void note_gap(struct changes *changes, const struct relay_report *report, int peer)
{
    struct peer_change *change = &changes->peers[peer];
    const struct peer_report *now = &report->peers[peer];
    bool has_gap = now->connects > change->connects && change->connects > 0 &&
                   now->error_for_ms >= 0 && now->error_for_ms < GAP_MS;
    char name[80];

    change->connects = now->connects;
    if (!has_gap || is_recent(report, change->logged_ms) ||
        !log_limit_is_due(&change->gap_logged_ms, report->up_for_ms))
        return;
    log_event(LOG_WARN,
              LOG_FIELDS(.sink = peer != REPORT_DATABASE ? now->name : NULL,
                         .error = now->error.text, .hint = now->error.hint),
              "%s %s for a moment", name_of(name, report, peer),
              words[outage_of(&now->error, peer)].was);
}

/* "nats at nats://n1:4222", "kafka at k1:9092,k2:9092". */
static void name_servers(char *out, size_t size, const struct changes *changes,
                         const struct relay_report *report, int sink)
{
    const struct sink_options *options = &changes->options->sinks[sink];
    const struct text_list *servers =
        strcmp(options->type, "kafka") == 0 ? &options->brokers : &options->servers;
    const char *used = report->peers[sink].server;
    size_t len;

    (void)snprintf(out, size, "%s at %s", options->type, used != NULL ? used : "");
    for (int i = 0; used == NULL && i < servers->count; i++) {
        len = strlen(out);
        (void)snprintf(out + len, size - len, "%s%s", i > 0 ? "," : "", servers->items[i]);
    }
}

/* A server that hangs says nothing, so this is said before the sink counts as away. */
static void note_silence(struct changes *changes, const struct relay_report *report, int peer)
{
    struct peer_change *change = &changes->peers[peer];
    const struct peer_report *now = &report->peers[peer];
    char servers[192];

    if (change->away) {
        change->silent = false;
    } else if (!change->silent && now->silent_ms >= SILENT_MS) {
        change->silent = true;
        change->silent_since_ms = report->up_for_ms - now->silent_ms;
        change->silent_sent = sent_to(report, peer);
        if (!log_limit_is_due(&change->silent_logged_ms, report->up_for_ms))
            return;
        name_servers(servers, sizeof servers, changes, report, peer);
        log_event(LOG_WARN, LOG_FIELDS(.sink = now->name, .error = servers),
                  "sink %s has not acknowledged a batch for %" PRId64 " s", now->name,
                  now->silent_ms / 1000);
    } else if (change->silent && now->silent_ms < SILENT_MS &&
               sent_to(report, peer) > change->silent_sent) {
        change->silent = false;
        if (change->silent_logged_ms > change->silent_since_ms)
            log_event(LOG_INFO, LOG_FIELDS(.sink = now->name),
                      "sink %s acknowledges again after %" PRId64 " s", now->name,
                      (report->up_for_ms - change->silent_since_ms) / 1000);
    }
}

static void note_up(struct changes *changes, const struct relay_report *report, int peer)
{
    struct peer_change *change = &changes->peers[peer];

    if (!change->away) {
        note_gap(changes, report, peer);
        return;
    }
    if ((report->peers[peer].state_for_ms < SETTLED_MS || report->peers[peer].handed > 0) &&
        sent_to(report, peer) == change->sent)
        return;
    if (change->logged)
        log_back(changes, report, peer);
    change->away = false;
    change->connects = report->peers[peer].connects;
}

/* A lane of a short drain may have ended since. */
static void note_connected(struct changes *changes, const struct relay_report *report, int peer)
{
    struct peer_change *change = &changes->peers[peer];
    const struct peer_report *now = &report->peers[peer];
    char name[80];

    if (change->connected || now->connects == 0)
        return;
    change->connected = true;
    if (!change->away)
        log_event(LOG_INFO, LOG_FIELDS(.sink = peer != REPORT_DATABASE ? now->name : NULL),
                  "%s is connected", name_of(name, report, peer));
}

static uint64_t count_of(const struct histogram_sum *times)
{
    uint64_t count = 0;

    for (int i = 0; i <= HISTOGRAM_BOUNDS_MAX; i++)
        count += times->counts[i];
    return count;
}

/* " publish 3.2 ms": the mean since the last line; nothing when there was none. */
static void put_mean(char *out, size_t size, const struct histogram_sum *before,
                     const struct histogram_sum *now, const char *name)
{
    uint64_t count = count_of(now) - count_of(before);
    size_t len = strlen(out);

    if (count > 0)
        (void)snprintf(out + len, size - len, ", %s %.1f ms", name,
                       (double)(now->sum - before->sum) / (double)count / 1000);
}

static void log_figures(struct changes *changes, const struct relay_report *report)
{
    const struct relay_report *before = &changes->figures;
    struct report_totals totals = report_totals(report, REPORT_ALL);
    uint64_t sent = totals.sent - report_totals(before, REPORT_ALL).sent;
    uint64_t lasted_ms = (uint64_t)(report->up_for_ms - changes->figures_ms);
    char means[160] = "";

    put_mean(means, sizeof means, &before->times[REPORT_CLAIM], &report->times[REPORT_CLAIM],
             "claim");
    put_mean(means, sizeof means, &before->times[REPORT_PUBLISH], &report->times[REPORT_PUBLISH],
             "publish");
    put_mean(means, sizeof means, &before->times[REPORT_SETTLE], &report->times[REPORT_SETTLE],
             "settle");
    log_info("sent %" PRIu64 " in all (%" PRIu64 "/s), parked %" PRIu64 ", dead %" PRIu64 "%s",
             totals.sent, sent * 1000 / (lasted_ms > 0 ? lasted_ms : 1), totals.parked, totals.dead,
             means);
    changes->figures_ms = report->up_for_ms;
    changes->figures = *report;
}

static void log_stuck(struct changes *changes, const struct relay_report *report)
{
    char why[256];

    if (report_is_healthy(report, why, sizeof why)) {
        if (changes->stuck)
            log_info("no restart is needed any more, after %" PRId64 " s",
                     (report->up_for_ms - changes->stuck_ms) / 1000);
        changes->stuck = false;
        changes->stuck_logged_ms = 0;
        return;
    }
    if (!changes->stuck)
        changes->stuck_ms = report->up_for_ms;
    changes->stuck = true;
    if (log_limit_is_due(&changes->stuck_logged_ms, report->up_for_ms))
        log_event(LOG_ERROR, LOG_FIELDS(.error = why, .hint = "restart the relay"),
                  report_needs_restart(report) ? "the database is another cluster"
                                               : "a thread is stuck");
}

static bool a_sink_has_been_up(const struct changes *changes, const struct relay_report *report)
{
    for (int sink = 0; sink < report->sink_count; sink++)
        if (changes->peers[sink].connected)
            return true;
    return false;
}

/* Of lanes that have ended, as those of a short drain, only their last error is left. */
static bool has_never_been_up(const struct relay_report *report, int peer)
{
    const struct peer_report *now = &report->peers[peer];

    return now->state == PEER_UNKNOWN && now->connects == 0 && now->error_for_ms >= 0;
}

void changes_log(struct changes *changes, const struct relay_report *report)
{
    for (int i = 0; i <= report->sink_count; i++) {
        int peer = i == 0 ? REPORT_DATABASE : i - 1;
        enum peer_state state = report->peers[peer].state;

        note_connected(changes, report, peer);
        if (state == PEER_AWAY || has_never_been_up(report, peer))
            note_away(changes, report, peer);
        else if (state == PEER_UP)
            note_up(changes, report, peer);
        if (peer != REPORT_DATABASE)
            note_silence(changes, report, peer);
    }
    if (!changes->relaying && changes->peers[REPORT_DATABASE].connected &&
        a_sink_has_been_up(changes, report)) {
        changes->relaying = true;
        log_info("relaying from %s with %d lane%s of %d row%s", changes->options->outbox.table,
                 changes->options->lanes, PLURAL(changes->options->lanes),
                 changes->options->outbox.batch, PLURAL(changes->options->outbox.batch));
    }
    log_stuck(changes, report);
    if (report->up_for_ms - changes->figures_ms >= FIGURES_MS)
        log_figures(changes, report);
}

void changes_describe(const struct changes *changes, const struct relay_report *report, char *out,
                      size_t size)
{
    char name[80];
    size_t len;

    (void)snprintf(out, size, "%s, sent %" PRIu64, changes->relaying ? "relaying" : "starting",
                   report_totals(report, REPORT_ALL).sent);
    for (int i = 0; i <= report->sink_count; i++) {
        int peer = i == 0 ? REPORT_DATABASE : i - 1;
        const struct peer_change *change = &changes->peers[peer];

        len = strlen(out);
        if (change->away)
            (void)snprintf(out + len, size - len, "; %s %s for %" PRId64 " s",
                           name_of(name, report, peer), words[change->outage].lasts,
                           (report->up_for_ms - change->began_ms) / 1000);
    }
}

bool changes_are_known(const struct relay_report *report)
{
    bool a_sink_is_known = false;

    for (int sink = 0; sink < report->sink_count; sink++)
        a_sink_is_known = a_sink_is_known || report->peers[sink].state != PEER_UNKNOWN;
    return report->peers[REPORT_DATABASE].state == PEER_AWAY ||
           (report->peers[REPORT_DATABASE].state == PEER_UP && a_sink_is_known);
}
