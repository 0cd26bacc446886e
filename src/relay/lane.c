#include "relay/lane.h"

#include "base/clock.h"
#include "base/hint.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "broker/broker.h"
#include "message/order.h"
#include "message/remedy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_PAUSES_MS 200
#define ROW_LINES_MAX 100      /* lines a minute about single rows */
#define AWAITED_BYTES_MAX 1000 /* a btree entry may have about 2,700 bytes */

static int ready(struct lane *lane);
static int claim(struct lane *lane);
static int note_pauses(struct lane *lane);
static int read_pauses_if_due(struct lane *lane);
static int route(struct lane *lane);
static int publish(struct lane *lane);
static int settle(struct lane *lane, bool ahead);
static enum lane_result after_empty_claim(struct lane *lane);
static bool may_claim_ahead(const struct lane *lane);
static void note_outcomes(struct lane *lane);
static enum lane_result finish_step(struct lane *lane);
static void abandon(struct lane *lane);
static bool claims_all_sinks(const struct lane *lane);
static enum lane_result fail_step(struct lane *lane);

enum lane_result lane_step(struct lane *lane)
{
    struct batch *batch = &lane->batch;
    int published;

    if (ready(lane) < 0)
        return fail_step(lane);
    if (sinks_are_all_paused(&lane->sinks))
        return LANE_IDLE;
    if (claim(lane) < 0)
        return fail_step(lane);
    if (note_pauses(lane) < 0)
        return fail_step(lane);
    if (batch->count == 0)
        return after_empty_claim(lane);

    if (route(lane) < 0)
        return fail_step(lane);
    pauses_hold(&lane->pauses, batch, lane->sinks.away | lane->sinks.passed_over);
    if (claims_all_sinks(lane))
        sinks_hold(&lane->sinks, batch);
    /* Only after PostgreSQL has refused to settle: what it would refuse is not published. */
    if (outbox_try_settling(lane->outbox, batch, &lane->error) < 0)
        return fail_step(lane);
    published = publish(lane);
    outcome_decide(batch, &lane->options->retry, ++lane->random);
    if (claims_all_sinks(lane))
        outcome_pass(batch, &lane->options->retry);
    if (settle(lane, published == 0 && may_claim_ahead(lane)) < 0)
        return fail_step(lane);
    note_outcomes(lane);
    return published == 0 ? finish_step(lane) : fail_step(lane);
}

/* Unless something of the database has failed since the lane made progress (lane_run.c). */
static void report_database_up(struct lane *lane)
{
    if (!lane->settle_failed && !trouble_is_of(&lane->report.trouble, ERROR_DATABASE))
        lane_report_up(&lane->report, REPORT_DATABASE);
}

static int ready(struct lane *lane)
{
    lane_report_enter(&lane->report, LANE_IS_CONNECTING);
    if (outbox_ready(lane->outbox, &lane->error) < 0)
        return -1;
    report_database_up(lane);
    if (lane->memory != NULL && memory_recall(lane->memory, lane->outbox, &lane->error) < 0)
        return -1;
    return read_pauses_if_due(lane) < 0 ? -1 : sinks_ready(&lane->sinks, &lane->error);
}

/* Takes over the pauses that the current claim has read, and so every pause committed before that
 * claim began. */
static int note_pauses(struct lane *lane)
{
    int changed = pauses_read(&lane->pauses, outbox_pauses(lane->outbox));

    if (changed < 0)
        return error_no_memory(&lane->error);
    sinks_pause(&lane->sinks, pauses_sinks(&lane->pauses, lane->options));
    if (changed > 0 && lane->number == 1)
        pauses_log(&lane->pauses);
    return 0;
}

/* While a sink is paused there may be nothing to claim, so the pauses are read by themselves. A
 * claim sent ahead reads them anyway. */
static int read_pauses_if_due(struct lane *lane)
{
    if (lane->sinks.paused == 0 || outbox_claims_ahead(lane->outbox) ||
        clock_left_ms(lane->read_pauses_at_ms) > 0)
        return 0;
    lane->read_pauses_at_ms = clock_now_ms() + READ_PAUSES_MS;
    if (outbox_read_pauses(lane->outbox, &lane->error) < 0)
        return -1;
    return note_pauses(lane);
}

static int route(struct lane *lane)
{
    enum order_kept kept[SINKS_MAX] = {ORDER_NOT_KEPT};
    bool is_kept = false;

    traced_claim(&lane->traced, lane->trace, &lane->batch);
    route_batch(&lane->options->routes, &lane->batch);
    for (int i = 0; i < lane->options->sink_count; i++)
        broker_wrap(lane->sinks.brokers[i], &lane->batch, i);
    if (lane->options->outbox.order != ORDER_KEY)
        return 0;
    if (order_link(&lane->batch, kept) < 0)
        return error_no_memory(&lane->error);
    for (int i = 0; lane->batch.last_wave > 0 && i < lane->options->sink_count; i++) {
        kept[i] = broker_keeps_order(lane->sinks.brokers[i], &lane->batch, i);
        is_kept = is_kept || kept[i] != ORDER_NOT_KEPT;
    }
    return is_kept && order_link(&lane->batch, kept) < 0 ? error_no_memory(&lane->error) : 0;
}

/* After a sleep of the process, the lane has lost its row locks or will lose them before it can
 * settle. */
static int64_t publish_deadline_ms(struct lane *lane)
{
    int64_t left_ms =
        lane->options->publish_timeout_ms + OUTBOX_SLACK_MS - outbox_claim_slept_ms(lane->outbox);

    if (left_ms <= 0 || outbox_claim_is_lost(lane->outbox)) {
        (void)error_set(&lane->error, ERROR_TRANSIENT, ERROR_SELF,
                        "the process was suspended after the claim, which is abandoned");
        return 0;
    }
    if (left_ms > lane->options->publish_timeout_ms)
        left_ms = lane->options->publish_timeout_ms;
    return clock_now_ms() + left_ms;
}

static bool sent_to(const struct lane *lane, int sink)
{
    const struct batch *batch = &lane->batch;

    for (int i = 0; i < batch->count; i++)
        if (batch->messages[i].sink == sink && batch->messages[i].verdict == VERDICT_SENT)
            return true;
    return false;
}

/* "SINK/DESTINATION" or "SINK/DESTINATION[PARTITION]"; or the configuration that sends there, or
 * that has a route for the topic. 0: nothing has a name. */
static int name_awaited(const struct lane *lane, const struct message *message, char *out,
                        size_t size)
{
    bool declined = message->verdict == VERDICT_DECLINED;
    int len;

    if (declined && message->sink < 0)
        return snprintf(out, size, DECLINED_PREFIX "routes %.*s", (int)message->topic.len,
                        message->topic.data);
    if (message->destination.data == NULL || message->sink < 0)
        return 0;
    len = snprintf(out, size, "%s%s/%.*s", declined ? DECLINED_PREFIX "permits " : "",
                   lane->options->sinks[message->sink].name, (int)message->destination.len,
                   message->destination.data);
    if (!declined && message->partition >= 0 && len > 0 && len < (int)size)
        len += snprintf(out + len, size - (size_t)len, "[%d]", message->partition);
    return len;
}

/* Sets what each waiting message waits for. One that has no name for it only waits until it is due
 * again. */
static void set_waits_for(const struct lane *lane, struct batch *batch)
{
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];
        char name[AWAITED_BYTES_MAX];
        int len;

        if ((message->verdict != VERDICT_WAIT && message->verdict != VERDICT_DECLINED) ||
            message->waits_for.data != NULL)
            continue;
        len = name_awaited(lane, message, name, sizeof name);
        if (len > 0 && len < (int)sizeof name)
            message->waits_for = batch_copy(batch, name, (size_t)len);
    }
}

static void note_missing(const struct lane *lane)
{
    int64_t now_ms = clock_now_ms();

    for (int i = 0; lane->missing != NULL && i < lane->batch.count; i++) {
        const struct message *message = &lane->batch.messages[i];

        if (message->verdict != VERDICT_DECLINED &&
            (message->sink < 0 || message->destination.data == NULL ||
             !sinks_can_use(&lane->sinks, message->sink)))
            continue;
        if (message->verdict == VERDICT_WAIT || message->verdict == VERDICT_DECLINED)
            missing_note(lane->missing, message, now_ms);
        else if (message->verdict == VERDICT_SENT)
            missing_end(lane->missing, message, now_ms);
    }
}

static void hand_over(struct lane *lane, int sink, int64_t deadline_ms)
{
    int handed = 0;

    for (int i = 0; i < lane->batch.count; i++)
        handed += order_is_in_wave(&lane->batch, &lane->batch.messages[i], sink);
    lane_report_handed(&lane->report, sink, handed);
    lane_report_waits(&lane->report, sink, true);
    traced_publish(&lane->traced, &lane->batch, sink);
    broker_send(lane->sinks.brokers[sink], &lane->batch, sink, deadline_ms);
    lane_report_waits(&lane->report, sink, false);
}

/* Sends to every sink before it waits for the first acknowledgement. When a sink fails, the
 * messages that the others have acknowledged are settled all the same. */
static int publish_wave(struct lane *lane, int64_t deadline_ms)
{
    struct lane_sinks *sinks = &lane->sinks;
    struct error error;
    int status = 0;

    for (int i = 0; i < lane->options->sink_count; i++)
        if (sinks_can_use(sinks, i))
            hand_over(lane, i, deadline_ms);
    for (int i = 0; i < lane->options->sink_count; i++) {
        if (!sinks_can_use(sinks, i))
            continue;
        lane_report_waits(&lane->report, i, true);
        if (broker_await(sinks->brokers[i], &lane->batch, i, deadline_ms, &error) < 0) {
            sinks_mark_away(sinks, i, &error);
            lane->error = error;
            status = -1;
        } else if (sinks->states[i].failures > 0 && sent_to(lane, i)) {
            sinks_mark_working(sinks, i);
        }
        traced_acknowledge(&lane->traced, &lane->batch, i);
        lane_report_waits(&lane->report, i, false);
        lane_report_handed(&lane->report, i, 0);
    }
    return status;
}

/* A wave begins only while at least half of the publish timeout is left; with less, a slow broker
 * would seem to be away. Messages of waves that do not begin stay unsent and are claimed again. */
static bool wave_may_begin(const struct lane *lane, int64_t deadline_ms)
{
    if (lane->batch.wave > lane->batch.last_wave)
        return false;
    return lane->batch.wave == 0 ||
           (!stop_requested(lane->stop) &&
            clock_left_ms(deadline_ms) > lane->options->publish_timeout_ms / 2);
}

static int publish(struct lane *lane)
{
    int64_t deadline_ms = publish_deadline_ms(lane);
    int64_t began_us = clock_now_us();
    struct batch *batch = &lane->batch;
    int status = 0;

    if (deadline_ms == 0)
        return -1;
    lane_report_enter(&lane->report, LANE_IS_PUBLISHING);
    for (batch->wave = 0; wave_may_begin(lane, deadline_ms); batch->wave++)
        if (publish_wave(lane, deadline_ms) < 0)
            status = -1;
    if (batch->parked)
        turn_note_parked(&lane->turns, (clock_now_us() - began_us) / 1000);
    set_waits_for(lane, batch);
    declined_note(&lane->declined, batch, lane->options->retry.backoff_max_ms, clock_now_ms());
    note_missing(lane);
    lane_report_time(&lane->report, REPORT_PUBLISH, clock_now_us() - began_us);
    lane_report_delivered(&lane->report, batch);
    return status;
}

/* A position passes the rows of sinks that are away: they are claimed and parked. */
static bool claims_all_sinks(const struct lane *lane)
{
    return lane->options->outbox.on_sent == ON_SENT_POSITION && !lane->batch.parked &&
           !lane->batch.refused;
}

/* A claim of outbox rows. A payload too large for every sink is not fetched. */
static struct claim_request outbox_request(const struct lane *lane)
{
    bool by_position = lane->options->outbox.on_sent == ON_SENT_POSITION;
    struct claim_request claim = {.away = by_position ? 0 : lane->sinks.away,
                                  .declined = &lane->declined};

    for (int i = 0; i < lane->options->sink_count; i++) {
        int64_t bytes = broker_payload_max(lane->sinks.brokers[i]);

        claim.payload_max = bytes > claim.payload_max ? bytes : claim.payload_max;
    }
    return claim;
}

/* `ahead`: the next claim is sent with the settlement. */
static int settle(struct lane *lane, bool ahead)
{
    const struct claim_request next = outbox_request(lane);
    int64_t began_us = clock_now_us();

    lane_report_enter(&lane->report, LANE_IS_SETTLING);
    lane->settle_failed =
        outbox_settle(lane->outbox, &lane->batch, ahead ? &next : NULL, &lane->error) < 0;
    sinks_note_claim(&lane->sinks);
    traced_end(&lane->traced, lane->trace, &lane->batch, lane->options->sinks,
               !lane->settle_failed && lane->batch.park_failure == NULL);
    if (lane->settle_failed)
        return -1;
    lane_report_time(&lane->report, REPORT_SETTLE, clock_now_us() - began_us);
    lane_report_claim(&lane->report, outbox_claims_ahead(lane->outbox));
    report_database_up(lane);
    return 0;
}

static struct claim_request begin_turn(struct lane *lane)
{
    struct claim_request claim = outbox_request(lane);
    int64_t now_ms = clock_now_ms();
    enum turn turn = turn_begin(&lane->turns, outbox_claims_ahead(lane->outbox),
                                outbox_refused_are_due(lane->outbox), now_ms);

    declined_forget(&lane->declined, now_ms);
    claim.refused = turn == TURN_REFUSED;
    claim.parked = turn == TURN_PARKED;
    if (claim.parked || claim.refused)
        claim.away = lane->sinks.away;
    return claim;
}

static int claim(struct lane *lane)
{
    bool was_ahead = outbox_claims_ahead(lane->outbox);
    struct claim_request claim = begin_turn(lane);
    int64_t began_us = clock_now_us();

    lane_report_enter(&lane->report, LANE_IS_CLAIMING);
    if (!was_ahead) {
        sinks_note_claim(&lane->sinks);
        lane_report_claim(&lane->report, true);
    }
    if (outbox_claim(lane->outbox, &lane->batch, &claim, &lane->error) < 0)
        return -1;
    if (lane->batch.count == 0) {
        lane_report_claim(&lane->report, false);
        report_database_up(lane);
        return 0;
    }
    lane_report_time(&lane->report, REPORT_CLAIM, clock_now_us() - began_us);
    lane_report_time(&lane->report, REPORT_BATCH, lane->batch.count);
    return 0;
}

/* The claim found nothing. */
static enum lane_result after_empty_claim(struct lane *lane)
{
    if (lane->batch.has_more)
        return LANE_MORE;
    return turn_end_empty(&lane->turns, clock_now_ms()) ? LANE_IDLE : LANE_MORE;
}

/* Whether every row stays unsent. The lane may then wait after this step, so no claim may be in
 * flight. */
static bool leaves_all_unsent(const struct lane *lane)
{
    return batch_count(&lane->batch, OUTCOME_UNSENT) == lane->batch.count;
}

/* Whether to send the next claim together with the settlement. It locks rows, so it is sent only
 * when the next step is certain to follow at once and to read it. */
static bool may_claim_ahead(const struct lane *lane)
{
    return lane->batch.has_more && !turn_is_of_parked(&lane->turns, clock_now_ms()) &&
           !stop_requested(lane->stop) && atomic_load(&lane->next) == NULL &&
           !leaves_all_unsent(lane) &&
           (lane->batch.refused || !outbox_refused_are_due(lane->outbox)) &&
           !sinks_are_all_paused(&lane->sinks);
}

static const char *hint_for(const struct lane *lane, const struct message *message, char *out,
                            size_t size)
{
    const struct outbox_options *outbox = &lane->options->outbox;
    const struct remedy_names names = {outbox->table, message_row_id(message),
                                       message->stays ||
                                           (!lane->batch.parked && outbox->park != NULL)};

    if (message->outcome == OUTCOME_REFUSED)
        return hint_find("settle", text_of(message->reason));
    if (message->outcome == OUTCOME_SENT)
        return "if it is the same row, mark it as sent yourself; map a uuid as event_id or a"
               " timestamp as created_at, by which a row is known also after it was corrected";
    return remedy_write(out, size, message->reason, &names);
}

/* What else happened to rows is in `status` and `dead list`. */
static void log_row(struct lane *lane, const struct message *message)
{
    static struct log_limit limit = {.lines = "dead, refused or unknown rows"};
    const struct sink_options *sinks = lane->options->sinks;
    const char *what = "the row and its key wait";
    char hint[REMEDY_BYTES];

    if (message->outcome == OUTCOME_DEAD)
        what = "the row is dead";
    if (message->outcome == OUTCOME_SENT)
        what = "sent by its copy alone: the row with its id in the outbox is another one, or was"
               " corrected so that it cannot be told from one";
    if (!lane->announced && lane->announce != NULL)
        lane->announce(lane->closure);
    lane->announced = true;
    if (!log_limit_takes(&limit, ROW_LINES_MAX, clock_now_ms()))
        return;
    log_event(LOG_WARN,
              LOG_FIELDS(.lane = lane->number,
                         .sink = message->sink >= 0 ? sinks[message->sink].name : NULL,
                         .destination = message->destination, .row = message_row_id(message),
                         .error = message->reason,
                         .hint = hint_for(lane, message, hint, sizeof hint)),
              "%s", what);
}

static void note_outcomes(struct lane *lane)
{
    const struct batch *batch = &lane->batch;

    lane_report_settled(&lane->report, batch);
    if (batch->has_more && batch->parked && batch->park_failure == NULL)
        turn_more_parked(&lane->turns, clock_now_ms());
    if (batch->park_failure != NULL)
        return;
    for (int i = 0; i < batch->count; i++) {
        const struct message *message = &batch->messages[i];

        if (message->outcome == OUTCOME_DEAD ||
            (message->outcome == OUTCOME_SENT && message->is_unknown) ||
            (message->outcome == OUTCOME_REFUSED && message->is_new_refusal))
            log_row(lane, message);
    }
}

/* Rows that cannot be parked are claimed again each time. While other rows of the batch are sent,
 * the lane goes on; when nothing was sent, it waits as if it had found nothing. */
static enum lane_result finish_step(struct lane *lane)
{
    const struct batch *batch = &lane->batch;

    /* All rows stay unsent if their sink has just gone away, or if a broker has refused their
     * chunk; in the latter case they are sent again at once, one message per key. */
    if (batch->park_failure == NULL)
        return leaves_all_unsent(lane) && lane->sinks.away != 0 ? LANE_IDLE : LANE_MORE;
    (void)error_set(&lane->error, ERROR_PERMANENT, ERROR_DATABASE,
                    "rows could not be parked or settled: %s", batch->park_failure);
    lane_report_error(&lane->report, REPORT_DATABASE, &lane->error);
    if (batch_count(batch, OUTCOME_SENT) > 0)
        return LANE_MORE;
    abandon(lane);
    return LANE_IDLE;
}

/* Ends the transaction, so that none stays open while the lane waits. */
static void abandon(struct lane *lane)
{
    outbox_abandon(lane->outbox);
    lane_report_claim(&lane->report, false);
}

static enum lane_result fail_step(struct lane *lane)
{
    if (lane->error.origin == ERROR_DATABASE)
        lane_report_away(&lane->report, REPORT_DATABASE, &lane->error);
    abandon(lane);
    return LANE_BROKEN;
}

/* A long host name is cut at its beginning, because the names of replicas differ at the end. */
void lane_name_session(char *out, size_t size, const char *part)
{
    enum { SHOWN = 23 };
    char host[256] = "";
    size_t len;

    (void)gethostname(host, sizeof host - 1);
    host[strcspn(host, "/")] = '\0';
    len = strlen(host);
    (void)snprintf(out, size, "%s:%d/%s", host + (len > SHOWN ? len - SHOWN : 0), (int)getpid(),
                   part);
}

int lane_offer_options(struct lane *lane, const struct relay_options *options)
{
    struct relay_options *copy = malloc(sizeof *copy);

    if (copy == NULL)
        return -1;
    *copy = *options;
    free(atomic_exchange(&lane->next, copy)); /* an earlier one that was not taken yet */
    return 0;
}

/* What statements, sessions and clients were made with. */
static bool needs_connections(const struct relay_options *before, const struct relay_options *after)
{
    return before->outbox.batch != after->outbox.batch ||
           before->outbox.batch_bytes != after->outbox.batch_bytes ||
           before->outbox.synchronous_commit != after->outbox.synchronous_commit ||
           before->publish_timeout_ms != after->publish_timeout_ms;
}

static void close_brokers(struct broker **brokers)
{
    for (int i = 0; i < SINKS_MAX; i++) {
        if (brokers[i] != NULL)
            broker_close(brokers[i]);
        brokers[i] = NULL;
    }
}

static int open_brokers(struct broker **brokers, const struct relay_options *options,
                        struct memory *memory, struct error *error)
{
    for (int i = 0; i < options->sink_count; i++) {
        brokers[i] = broker_open(&options->sinks[i], memory != NULL ? memory->seen : NULL, error);
        if (brokers[i] == NULL)
            return -1;
    }
    return 0;
}

/* Everything that can fail comes before anything is replaced. */
static int rebuild_connections(struct lane *lane, const struct relay_options *options,
                               struct error *error)
{
    struct broker *brokers[SINKS_MAX] = {NULL};
    struct batch batch = {0};

    if (open_brokers(brokers, options, lane->memory, error) < 0 ||
        batch_init(&batch, options->outbox.batch) < 0) {
        close_brokers(brokers);
        return -1;
    }
    outbox_reopen(lane->outbox, &options->outbox, &options->routes);
    close_brokers(lane->sinks.brokers);
    memcpy(lane->sinks.brokers, brokers, sizeof brokers);
    batch_free(&lane->batch);
    lane->batch = batch;
    return 0;
}

void lane_take_options(struct lane *lane)
{
    struct relay_options *next;
    struct error error;

    if (outbox_claims_ahead(lane->outbox))
        return;
    next = atomic_exchange(&lane->next, NULL);
    if (next == NULL)
        return;
    if (needs_connections(lane->options, next)) {
        if (rebuild_connections(lane, next, &error) < 0) {
            log_event(LOG_ERROR, LOG_FIELDS(.lane = lane->number, .error = error.text),
                      "the lane keeps its old configuration");
            free(next);
            return;
        }
        free(lane->own);
        lane->own = next;
    } else if (lane->own != NULL) { /* the connections point into it */
        *lane->own = *next;
        free(next);
    } else {
        lane->own = next;
    }
    lane->options = lane->own;
    lane->sinks.options = lane->own;
    log_event(LOG_DEBUG, LOG_FIELDS(.lane = lane->number), "the lane has the new configuration");
}

int lane_init(struct lane *lane, int number, const struct relay_options *options,
              struct memory *memory, const struct stop *stop, struct error *error)
{
    char part[16];
    char name[48];

    *lane = (struct lane){.number = number, .options = options, .memory = memory, .stop = stop};
    lane_report_init(&lane->report, number);
    lane->random = (uint32_t)clock_now_ms() * 2654435761U + (uint32_t)number;
    lane->sinks =
        (struct lane_sinks){.options = options, .report = &lane->report, .random = lane->random};
    (void)snprintf(part, sizeof part, "%d", number);
    lane_name_session(name, sizeof name, part);
    lane->outbox = outbox_open(&options->outbox, &options->routes, name);
    if (lane->outbox == NULL || batch_init(&lane->batch, options->outbox.batch) < 0)
        return error_no_memory(error);
    return open_brokers(lane->sinks.brokers, options, memory, error);
}

void lane_close_brokers(struct lane *lane)
{
    close_brokers(lane->sinks.brokers);
}

void lane_close(struct lane *lane)
{
    batch_free(&lane->batch);
    pauses_free(&lane->pauses);
    outbox_close(lane->outbox);
    lane->outbox = NULL;
    lane_close_brokers(lane);
    free(atomic_exchange(&lane->next, NULL));
    free(lane->own);
    lane->own = NULL;
}
