#include "relay/report.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- histograms ---- */

/* Only one thread adds, so that it needs no locked instruction. */
static void add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + value,
                          memory_order_relaxed);
}

/* A negative value counts as 0. */
static void histogram_count(struct histogram *histogram, int64_t value)
{
    const struct histogram_scale *scale = histogram->scale;
    int bucket = scale->count;

    if (value < 0)
        value = 0;
    /* From the top: in a backlog, where speed counts, the rows are old. */
    while (bucket > 0 && value <= scale->bounds[bucket - 1])
        bucket--;
    add(&histogram->counts[bucket], 1);
    add(&histogram->sum, (uint64_t)value);
}

static void histogram_add(struct histogram_sum *sum, const struct histogram *histogram)
{
    sum->scale = histogram->scale;
    for (int i = 0; i <= histogram->scale->count; i++)
        sum->counts[i] += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
    sum->sum += atomic_load_explicit(&histogram->sum, memory_order_relaxed);
}

/* ---- what a lane writes ---- */

static const struct histogram_scale work_scale = {/* microseconds */
                                                  {250, 500, 1000, 2500, 5000, 10000, 25000, 50000,
                                                   100000, 250000, 500000, 1000000, 2500000,
                                                   5000000, 10000000, 30000000},
                                                  16};
static const struct histogram_scale delivery_scale = {
    {2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000,
     30000000, 60000000, 300000000, 1800000000, 3600000000, 21600000000},
    18};
static const struct histogram_scale batch_scale = {
    {1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}, 13};

void lane_report_init(struct lane_report *lane, int number)
{
    lane->number = number;
    lane->state_at_ms = clock_now_ms();
    for (int i = 0; i < REPORT_TIME_COUNT; i++)
        lane->times[i].scale = &work_scale;
    lane->times[REPORT_DELIVER].scale = &delivery_scale;
    lane->times[REPORT_BATCH].scale = &batch_scale;
    trouble_init(&lane->trouble);
    (void)pthread_mutex_init(&lane->lock, NULL);
}

void lane_report_enter(struct lane_report *lane, enum lane_state state)
{
    atomic_store_explicit(&lane->state_at_ms, clock_now_ms(), memory_order_relaxed);
    atomic_store_explicit(&lane->state, (int)state, memory_order_release);
}

void lane_report_claim(struct lane_report *lane, bool is_open)
{
    atomic_store_explicit(&lane->claimed_at_ms, is_open ? clock_now_ms() : 0, memory_order_relaxed);
}

void lane_report_error(struct lane_report *lane, int peer, const struct error *error)
{
    struct lane_peer *about = &lane->peers[peer];

    (void)pthread_mutex_lock(&lane->lock);
    about->error = *error;
    about->error_at_ms = clock_now_ms();
    (void)pthread_mutex_unlock(&lane->lock);
}

static void enter(struct lane_report *lane, int peer, enum peer_state state)
{
    struct lane_peer *about = &lane->peers[peer];

    if (atomic_load_explicit(&about->state, memory_order_relaxed) == (int)state)
        return;
    if (state == PEER_UP)
        (void)atomic_fetch_add(&about->connects, 1);
    atomic_store(&about->since_ms, clock_now_ms());
    atomic_store(&about->state, (int)state);
}

void lane_report_up(struct lane_report *lane, int peer)
{
    enter(lane, peer, PEER_UP);
}

void lane_report_paused(struct lane_report *lane, int peer)
{
    enter(lane, peer, PEER_PAUSED);
}

/* The error is stored first, so that a reader who sees "away" also finds the reason. */
void lane_report_away(struct lane_report *lane, int peer, const struct error *error)
{
    lane_report_error(lane, peer, error);
    enter(lane, peer, PEER_AWAY);
}

void lane_report_handed(struct lane_report *lane, int sink, int count)
{
    atomic_store(&lane->handed[sink], count);
}

void lane_report_waits(struct lane_report *lane, int sink, bool waits)
{
    waits = waits && atomic_load(&lane->handed[sink]) > 0;
    atomic_store(&lane->waits_since_ms[sink], waits ? clock_now_ms() : 0);
}

void lane_report_time(struct lane_report *lane, enum report_time time, int64_t value)
{
    histogram_count(&lane->times[time], value);
}

void lane_report_delivered(struct lane_report *lane, const struct batch *batch)
{
    int64_t now_us = clock_wall_us();

    for (int i = 0; i < batch->count; i++) {
        const struct message *message = &batch->messages[i];

        if (message->verdict == VERDICT_SENT && message->created_at.data != NULL)
            histogram_count(&lane->times[REPORT_DELIVER], now_us - message->created_us);
    }
}

static void count(struct lane_report *lane, int sink, enum report_count what)
{
    add(&lane->counts[sink >= 0 ? sink : REPORT_NO_SINK][what], 1);
}

static enum report_count parked_state(enum verdict verdict)
{
    if (verdict == VERDICT_PAUSED)
        return REPORT_PARKED_PAUSED;
    if (verdict == VERDICT_EARLY)
        return REPORT_PARKED_SCHEDULED;
    return verdict == VERDICT_WAIT || verdict == VERDICT_DECLINED ? REPORT_PARKED_WAITING
                                                                  : REPORT_PARKED_RETRY;
}

/* A row is counted when it is parked for the first time, not at each further try. */
static void count_message(struct lane_report *lane, const struct batch *batch,
                          const struct message *message)
{
    if (batch->parked && message->outcome != OUTCOME_BEHIND && message->outcome != OUTCOME_UNSENT)
        count(lane, message->sink, REPORT_RETRIED);
    if (message->outcome == OUTCOME_SENT)
        count(lane, message->sink, REPORT_SENT);
    if (batch->park_failure != NULL)
        return;
    if (message->outcome == OUTCOME_DEAD)
        count(lane, message->sink,
              message->verdict == VERDICT_REJECTED ? REPORT_DEAD_REJECTED : REPORT_DEAD_ATTEMPTS);
    else if (message->outcome == OUTCOME_BEHIND && !batch->parked)
        count(lane, message->sink, REPORT_PARKED_BEHIND);
    else if (message->outcome == OUTCOME_PARK && !batch->parked)
        count(lane, message->sink, parked_state(message->verdict));
}

void lane_report_settled(struct lane_report *lane, const struct batch *batch)
{
    for (int i = 0; i < batch->count; i++)
        count_message(lane, batch, &batch->messages[i]);
    if (batch_count(batch, OUTCOME_SENT) > 0)
        atomic_store_explicit(&lane->sent_at_ms, clock_now_ms(), memory_order_relaxed);
}

uint64_t lane_report_total(const struct lane_report *lane, enum report_count count)
{
    uint64_t total = 0;

    for (int sink = 0; sink < REPORT_PEERS; sink++)
        total += atomic_load_explicit(&lane->counts[sink][count], memory_order_relaxed);
    return total;
}

void report_init(struct report *report, const struct relay_options *options)
{
    int64_t now_ms = clock_now_ms();

    *report = (struct report){.options = options, .started_ms = now_ms};
    atomic_store(&report->loop_at_ms, now_ms);
    atomic_store(&report->unsent_from, INT64_MIN);
    atomic_store(&report->watcher_loop_at_ms, now_ms);
    report_set_limits(report, options);
}

static void raise(_Atomic int64_t *limit, int64_t value)
{
    if (value > atomic_load(limit))
        atomic_store(limit, value);
}

void report_set_limits(struct report *report, const struct relay_options *options)
{
    raise(&report->publish_timeout_ms, options->publish_timeout_ms);
    raise(&report->poll_interval_ms, options->poll_interval_ms);
}

void report_add_lane(struct report *report, struct lane_report *lane)
{
    report->lanes[report->lane_count++] = lane;
}

uint64_t report_total(const struct report *report, enum report_count count)
{
    uint64_t total = 0;

    for (int i = 0; i < report->lane_count; i++)
        total += lane_report_total(report->lanes[i], count);
    return total;
}

uint64_t report_connects(const struct report *report)
{
    uint64_t connects = 0;

    for (int i = 0; i < report->lane_count; i++)
        connects += atomic_load(&report->lanes[i]->peers[REPORT_DATABASE].connects);
    return connects;
}

uint64_t report_away(const struct report *report)
{
    uint64_t away = 0;

    for (int i = 0; i < report->lane_count; i++)
        for (int sink = 0; sink < report->options->sink_count; sink++)
            if (atomic_load(&report->lanes[i]->peers[sink].state) == PEER_AWAY)
                away |= UINT64_C(1) << sink;
    return away;
}

static void add_handed(struct peer_report *out, struct lane_report *lane, int sink, int64_t now_ms)
{
    int64_t since_ms = atomic_load(&lane->waits_since_ms[sink]);

    out->handed += atomic_load_explicit(&lane->handed[sink], memory_order_relaxed);
    if (since_ms == 0 || now_ms - since_ms <= out->silent_ms)
        return;
    out->silent_ms = now_ms - since_ms;
    out->server = atomic_load(&lane->peers[sink].server);
}

/* The state of a lane that has ended says nothing about the current state. */
static void add_peer(struct peer_report *out, struct lane_report *lane, int peer, int64_t now_ms)
{
    struct lane_peer *about = &lane->peers[peer];
    enum peer_state state = (enum peer_state)atomic_load(&about->state);
    int64_t for_ms = now_ms - atomic_load(&about->since_ms);

    out->connects += atomic_load(&about->connects);
    if (peer != REPORT_DATABASE)
        add_handed(out, lane, peer, now_ms);
    if (atomic_load(&about->recognise_ms) != 0)
        out->recognise_ms = atomic_load(&about->recognise_ms);
    out->keeps_nothing = out->keeps_nothing || atomic_load(&about->keeps_nothing);
    if (atomic_load(&about->key_order) != NULL)
        out->key_order = atomic_load(&about->key_order);
    (void)pthread_mutex_lock(&lane->lock);
    if (about->error_at_ms != 0 &&
        (out->error_for_ms < 0 || now_ms - about->error_at_ms < out->error_for_ms)) {
        out->error = about->error;
        out->error_for_ms = now_ms - about->error_at_ms;
    }
    (void)pthread_mutex_unlock(&lane->lock);
    if (state == PEER_UNKNOWN || atomic_load(&lane->state) == LANE_IS_ENDED)
        return;
    if (state == PEER_AWAY)
        out->lanes_away++;
    if (state > out->state || (state == PEER_AWAY && for_ms > out->state_for_ms) ||
        (state != PEER_AWAY && state == out->state && for_ms < out->state_for_ms)) {
        out->state = state;
        out->state_for_ms = for_ms;
    }
}

static void read_peer(const struct report *report, struct relay_report *all, int peer)
{
    struct peer_report *out = &all->peers[peer];
    int64_t now_ms = report->started_ms + all->up_for_ms;

    *out = (struct peer_report){
        .name = peer == REPORT_DATABASE ? "database" : report->options->sinks[peer].name,
        .type = peer == REPORT_DATABASE ? NULL : report->options->sinks[peer].type,
        .state_for_ms = all->up_for_ms,
        .error_for_ms = -1,
    };
    for (int i = 0; i < report->lane_count; i++)
        add_peer(out, report->lanes[i], peer, now_ms);
    out->since_ms = all->now_ms - out->state_for_ms;
}

static struct lane_snapshot read_lane(const struct lane_report *lane, int64_t now_ms)
{
    enum lane_state state =
        (enum lane_state)atomic_load_explicit(&lane->state, memory_order_acquire);
    int64_t claimed_at_ms = atomic_load(&lane->claimed_at_ms);

    return (struct lane_snapshot){
        .number = lane->number,
        .state = state,
        .state_for_ms = now_ms - atomic_load(&lane->state_at_ms),
        .claim_for_ms = claimed_at_ms != 0 ? now_ms - claimed_at_ms : -1,
    };
}

static void add_trouble(struct relay_report *out, struct trouble *trouble, int lane, int64_t now_ms)
{
    int64_t for_ms = trouble_for_ms(trouble, now_ms);

    trouble_list_add(&out->troubles, trouble, lane, now_ms);
    out->failures += atomic_load(&trouble->failures);
    out->failing_lanes += for_ms > 0 && lane != TROUBLE_WATCHER;
    if (for_ms > out->failing_for_ms)
        out->failing_for_ms = for_ms;
}

static void add_sent(struct relay_report *out, const struct lane_report *lane, int64_t now_ms)
{
    int64_t sent_at_ms = atomic_load_explicit(&lane->sent_at_ms, memory_order_relaxed);

    if (sent_at_ms != 0 && (out->sent_for_ms < 0 || now_ms - sent_at_ms < out->sent_for_ms))
        out->sent_for_ms = now_ms - sent_at_ms;
}

void report_read(const struct report *report, struct relay_report *out)
{
    int64_t now_ms = clock_now_ms();

    *out = (struct relay_report){
        .now_ms = clock_wall_us() / 1000,
        .up_for_ms = now_ms - report->started_ms,
        .publish_timeout_ms = atomic_load(&report->publish_timeout_ms),
        .poll_interval_ms = atomic_load(&report->poll_interval_ms),
        .loop_for_ms = now_ms - atomic_load(&report->loop_at_ms),
        .watcher_loop_for_ms = now_ms - atomic_load(&report->watcher_loop_at_ms),
        .still_for_ms = atomic_load(&report->still_ms),
        .sink_count = report->options->sink_count,
        .lane_count = report->lane_count,
        .sent_for_ms = -1,
    };
    read_peer(report, out, REPORT_DATABASE);
    for (int i = 0; i < out->sink_count; i++)
        read_peer(report, out, i);
    for (int i = 0; i < report->lane_count; i++) {
        struct lane_report *lane = report->lanes[i];

        out->lanes[i] = read_lane(lane, now_ms);
        add_trouble(out, &lane->trouble, lane->number, now_ms);
        add_sent(out, lane, now_ms);
        for (int sink = 0; sink < REPORT_PEERS; sink++)
            for (int j = 0; j < REPORT_COUNT_COUNT; j++)
                out->counts[sink][j] +=
                    atomic_load_explicit(&lane->counts[sink][j], memory_order_relaxed);
        for (int j = 0; j < REPORT_TIME_COUNT; j++)
            histogram_add(&out->times[j], &lane->times[j]);
    }
    trace_read(report->trace, &out->trace);
    if (report->watcher != NULL)
        add_trouble(out, report->watcher, TROUBLE_WATCHER, now_ms);
}

struct report_totals report_totals(const struct relay_report *report, int sink)
{
    int first = sink == REPORT_ALL ? 0 : sink;
    int last = sink == REPORT_ALL ? REPORT_PEERS - 1 : sink;
    struct report_totals totals = {0};

    for (int i = first; i <= last; i++) {
        totals.sent += report->counts[i][REPORT_SENT];
        totals.retried += report->counts[i][REPORT_RETRIED];
        for (int reason = REPORT_RETRIED + 1; reason < REPORT_DEAD_REJECTED; reason++)
            totals.parked += report->counts[i][reason];
        for (int reason = REPORT_DEAD_REJECTED; reason < REPORT_COUNT_COUNT; reason++)
            totals.dead += report->counts[i][reason];
    }
    return totals;
}

const char *lane_state_name(enum lane_state state)
{
    static const char *const names[LANE_STATE_COUNT] = {
        [LANE_IS_STARTING] = "starting", [LANE_IS_CONNECTING] = "connecting",
        [LANE_IS_CLAIMING] = "claiming", [LANE_IS_PUBLISHING] = "publishing",
        [LANE_IS_SETTLING] = "settling", [LANE_IS_IDLE] = "idle",
        [LANE_IS_WAITING] = "waiting",   [LANE_IS_ENDED] = "ended",
    };

    return names[state];
}

#define LOOP_STUCK_MS 30000 /* the main thread does nothing that takes longer than seconds */
#define CALL_STUCK_MS                                                                              \
    90000 /* some statements of 12 s each, or a broker timeout plus closing the client */
#define IDLE_STUCK_MS 90000 /* the longest wait of a lane is 30 s */
#define OTHER_CLUSTER_MS 10000

/* A lane that has been in this state for longer is stuck; 0: it never is. */
static int64_t state_ms_max(enum lane_state state, const struct relay_report *report)
{
    switch (state) {
    case LANE_IS_PUBLISHING:
        return report->publish_timeout_ms + CALL_STUCK_MS;
    case LANE_IS_IDLE:
        return report->poll_interval_ms + IDLE_STUCK_MS;
    case LANE_IS_WAITING:
        return IDLE_STUCK_MS;
    case LANE_IS_ENDED:
    case LANE_STATE_COUNT:
        return 0;
    case LANE_IS_STARTING:
    case LANE_IS_CONNECTING:
    case LANE_IS_CLAIMING:
    case LANE_IS_SETTLING:
        break;
    }
    return CALL_STUCK_MS;
}

/* A moment's redirection of a name is no reason to start anew. */
bool report_needs_restart(const struct relay_report *report)
{
    const struct peer_report *database = &report->peers[REPORT_DATABASE];

    return database->state == PEER_AWAY && database->lanes_away == report->lane_count &&
           database->error.needs_restart && database->state_for_ms > OTHER_CLUSTER_MS;
}

bool report_is_healthy(const struct relay_report *report, char *why, size_t size)
{
    why[0] = '\0';
    if (report_needs_restart(report)) {
        (void)snprintf(why, size, "only a restart helps: %s",
                       report->peers[REPORT_DATABASE].error.text);
        return false;
    }
    if (report->loop_for_ms > LOOP_STUCK_MS || report->watcher_loop_for_ms > CALL_STUCK_MS) {
        bool main_thread = report->loop_for_ms > LOOP_STUCK_MS;

        (void)snprintf(why, size, "the %s has not completed a loop for %" PRId64 " s",
                       main_thread ? "main thread" : "watcher",
                       (main_thread ? report->loop_for_ms : report->watcher_loop_for_ms) / 1000);
        return false;
    }
    for (int i = 0; i < report->lane_count; i++) {
        const struct lane_snapshot *lane = &report->lanes[i];
        int64_t max_ms = state_ms_max(lane->state, report);

        if (max_ms == 0 || lane->state_for_ms <= max_ms)
            continue;
        (void)snprintf(
            why, size, "lane %d has been %s for %" PRId64 " s; the limit is %" PRId64 " s",
            lane->number, lane_state_name(lane->state), lane->state_for_ms / 1000, max_ms / 1000);
        return false;
    }
    return true;
}
