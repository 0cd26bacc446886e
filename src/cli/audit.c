/*
 * audit: what the table says was sent against what the brokers hold.
 *
 * The rows come first and the messages afterwards, so whatever the table says was sent is at the
 * broker by then, also while relays go on. A message without such a row may be of an event that is
 * newer or not yet settled; the table is asked for those again at the end.
 */
#include "cli/audit.h"

#include "base/clock.h"
#include "broker/broker.h"
#include "desk/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASK_MS 4000                 /* for what a broker says of a row's destination */
#define CLOCKS_MS (60 * 60 * 1000L) /* how far the clocks of the servers may be apart */
#define REPAIR_STEP 10000
#define REPAIR_STEPS "  sent rows\n  values replay_begin\n  values repair_ids\n  copy replay"

/* ---- sinks ---- */

static const struct sink_options *options_of(const struct auditing *auditing, int sink)
{
    return &auditing->config->relay.sinks[sink];
}

/* The number of a topic, which is new if it is not known. -1: no memory, or too many. */
static int topic_number(struct audited_sink *sink, struct text name, struct error *error)
{
    const json_t *known = json_object_getn(sink->numbers, name.data, name.len);
    char **grown;
    int number = sink->topic_count;

    if (known != NULL)
        return (int)json_integer_value(known);
    if (number == AUDIT_TOPICS_MAX)
        return error_set(error, ERROR_PERMANENT, ERROR_SELF, "rows go to more than %d topics",
                         AUDIT_TOPICS_MAX);
    grown = realloc(sink->topics, (size_t)(number + 1) * sizeof *grown);
    if (grown == NULL)
        return error_no_memory(error);
    sink->topics = grown;
    sink->topics[number] = strndup(name.data, name.len);
    if (sink->topics[number] == NULL ||
        json_object_setn_new(sink->numbers, name.data, name.len, json_integer(number)) < 0)
        return error_no_memory(error);
    sink->topic_count++;
    return number;
}

/* A broker that cannot be reached leaves unknown what only it can say of a row. */
static int open_sink(struct auditing *auditing, int number, struct error *error)
{
    const struct sink_options *options = options_of(auditing, number);
    struct audited_sink *sink = &auditing->sinks[number];
    struct findings findings;
    struct error away;

    sink->numbers = json_object();
    sink->broker = broker_open(options, NULL, error);
    if (sink->broker == NULL)
        return -1;
    sink->unreadable = broker_unreadable(sink->broker);
    sink->is_audited =
        sink->unreadable == NULL && (auditing->arguments->sink == NULL ||
                                     strcmp(auditing->arguments->sink, options->name) == 0);
    if (findings_init(&findings) < 0)
        return error_no_memory(error);
    if (sink->is_audited)
        (void)broker_inspect(sink->broker, NULL, &findings, &away);
    findings_free(&findings);
    for (int i = 0; i < options->allow.count && sink->is_audited; i++)
        if (strcmp(options->type, "kafka") == 0 && !sink_pattern(options->allow.items[i]) &&
            topic_number(sink, text_of(options->allow.items[i]), error) < 0)
            return -1;
    return 0;
}

static int open_sinks(struct auditing *auditing, struct error *error)
{
    bool is_one_audited = false;

    for (int i = 0; i < auditing->config->relay.sink_count; i++) {
        if (open_sink(auditing, i, error) < 0)
            return -1;
        is_one_audited = is_one_audited || auditing->sinks[i].is_audited;
    }
    if (is_one_audited)
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                    auditing->arguments->sink != NULL
                        ? "no [sink.%s] is configured that can be read back: one of type nats, or "
                          "of type kafka with event ids in its messages"
                        : "no sink is configured that can be read back: one of type nats, or of "
                          "type kafka with event ids in its messages",
                    auditing->arguments->sink);
    if (auditing->arguments->sink != NULL)
        admin_hint_losses(auditing->admin, auditing->arguments->sink, error);
    return -1;
}

static void close_sinks(struct auditing *auditing)
{
    for (int i = 0; i < auditing->config->relay.sink_count; i++) {
        struct audited_sink *sink = &auditing->sinks[i];

        broker_close(sink->broker);
        json_decref(sink->numbers);
        for (int j = 0; j < sink->topic_count; j++)
            free(sink->topics[j]);
        free(sink->topics);
        free(sink->places);
    }
    broker_end();
}

/* ---- rows ---- */

/* What a lane does with a claimed row, up to where it would send. */
static void judge(const struct auditing *auditing, struct batch *batch)
{
    route_batch(&auditing->config->relay.routes, batch);
    for (int i = 0; i < auditing->config->relay.sink_count; i++) {
        if (!auditing->sinks[i].is_audited)
            continue;
        broker_wrap(auditing->sinks[i].broker, batch, i);
        broker_explain(auditing->sinks[i].broker, batch, i, clock_now_ms() + ASK_MS);
    }
}

/* NATS has no key beside the header, and no difference between a tombstone and no bytes. */
static int hash_row(const struct auditing *auditing, const struct message *message,
                    struct audit_row *row, struct error *error)
{
    const struct broker *broker = auditing->sinks[message->sink].broker;
    bool is_nats = strcmp(broker->options->type, "nats") == 0;
    struct text none = {NULL, 0};

    row->has_content =
        (message->verdict == VERDICT_PENDING || message->verdict == VERDICT_WAIT) &&
        (message->payload_len < 0 || (int64_t)message->payload.len == message->payload_len);
    if (!row->has_content)
        return 0;
    return audit_hash_content(
               auditing->audit, message->destination, is_nats ? none : message->route_key,
               is_nats && message->payload.len == 0 ? none : message->payload, message->headers,
               message->header_count, broker->headers.own[OWN_REPLAYED_AT], &row->content) < 0
               ? error_no_memory(error)
               : 0;
}

/* With [outbox] park a row that was parked looks like any other once it is sent. */
static int add_row(struct auditing *auditing, const struct batch *batch,
                   const struct message *message, const struct sent_row *sent, struct error *error)
{
    struct audit_row row = {.id = message->id,
                            .event_id = message->event_id,
                            .rank = sent->rank,
                            .sent_ms = sent->sent_ms,
                            .partition = message->partition,
                            .route_key = message->route_key,
                            .was_parked =
                                batch->parked || auditing->config->relay.outbox.park != NULL};

    if (message->sink < 0) {
        auditing->no_sink++;
        return 0;
    }
    if (!auditing->sinks[message->sink].is_audited)
        return 0;
    row.sink = message->sink;
    if (strcmp(options_of(auditing, row.sink)->type, "kafka") == 0)
        row.topic = topic_number(&auditing->sinks[row.sink], message->destination, error);
    if (row.topic < 0 || hash_row(auditing, message, &row, error) < 0)
        return -1;
    row.has_key = message->key.data != NULL && sent->rank != INT64_MIN &&
                  auditing->config->relay.outbox.order == ORDER_KEY;
    if (row.has_key)
        row.key = audit_hash_text(auditing->audit, message->key);
    auditing->rows++;
    return audit_add_row(auditing->audit, &row, error);
}

static int take_rows(void *closure, struct batch *batch, const struct sent_row *sent,
                     struct error *error)
{
    struct auditing *auditing = closure;

    judge(auditing, batch);
    for (int i = 0; i < batch->count; i++)
        if (add_row(auditing, batch, &batch->messages[i], &sent[i], error) < 0)
            return -1;
    progress_show(&auditing->progress, auditing->rows, -1);
    return 0;
}

static int read_rows(struct auditing *auditing, struct error *error)
{
    const struct arguments *arguments = auditing->arguments;
    struct audit_request request = {
        .since = arguments->since, .from = arguments->from, .to = arguments->to};
    const struct sent_reader reader = {.on_rows = take_rows, .closure = auditing};
    int status;

    auditing->tells_sent = admin_check_sent(auditing->admin, &auditing->why_not) == 0;
    if (!auditing->tells_sent)
        return auditing->why_not.origin == ERROR_CONFIG ? 0 : (*error = auditing->why_not, -1);
    for (int i = 0; i < auditing->config->relay.sink_count; i++) {
        int64_t bytes = broker_payload_max(auditing->sinks[i].broker);

        request.payload_max = bytes > request.payload_max ? bytes : request.payload_max;
    }
    progress_begin(&auditing->progress, "rows read:", -1);
    status = admin_read_sent(auditing->admin, &auditing->config->relay.routes, &request, &reader,
                             &auditing->sent, error);
    progress_end(&auditing->progress);
    return status;
}

/* ---- messages ---- */

static int take_message(void *closure, const struct held *held, struct error *error)
{
    struct auditing *auditing = closure;
    const struct audited_sink *sink = &auditing->sinks[auditing->reading];
    bool is_nats = strcmp(sink->broker->options->type, "nats") == 0;
    struct audit_held record = {.event_id = held->event_id,
                                .sink = auditing->reading,
                                .topic = held->topic,
                                .partition = held->partition,
                                .key = held->key,
                                .position = held->position,
                                .time_ms = held->time_ms,
                                .is_replayed = held->is_replayed};

    progress_show(&auditing->progress, ++auditing->messages, -1);
    if (held->event_id.data == NULL) {
        auditing->foreign++;
        return 0;
    }
    if (audit_hash_content(auditing->audit, held->destination, held->key,
                           is_nats && held->payload.len == 0 ? (struct text){NULL, 0}
                                                             : held->payload,
                           held->headers, held->header_count,
                           sink->broker->headers.own[OWN_REPLAYED_AT], &record.content) < 0)
        return error_no_memory(error);
    return audit_add_held(auditing->audit, &record, error);
}

static void take_place(void *closure, const struct held_place *place)
{
    struct auditing *auditing = closure;
    struct audited_sink *sink = &auditing->sinks[auditing->reading];

    if (broker_reserve(&sink->places, &sink->place_capacity, sink->place_count + 1,
                       sizeof(*sink->places)) == 0)
        sink->places[sink->place_count++] = *place;
    else
        sink->lacks_place = true;
}

static void take_total(void *closure, int64_t messages)
{
    ((struct auditing *)closure)->progress.total += messages;
}

/* A broker that cannot be read is named, and the others are audited. */
static int read_sink(struct auditing *auditing, int number, int64_t since_ms, struct error *error)
{
    struct audited_sink *sink = &auditing->sinks[number];
    const struct read_request request = {.topics = (const char *const *)sink->topics,
                                         .topic_count = sink->topic_count,
                                         .since_ms = since_ms,
                                         .on_message = take_message,
                                         .on_place = take_place,
                                         .on_total = take_total,
                                         .closure = auditing};
    struct broker *broker = broker_open(options_of(auditing, number), NULL, error);

    if (broker == NULL)
        return -1;
    auditing->reading = number;
    sink->is_read = broker_read(broker, &request, &sink->error) == 0;
    broker_close(broker);
    if (sink->lacks_place)
        return error_no_memory(error);
    if (sink->is_read || sink->error.origin == ERROR_BROKER)
        return 0;
    *error = sink->error;
    return -1;
}

/* From when on messages are of use; 0: all. A row may be marked long after its message, while
 * PostgreSQL refuses the mark: it must not be sent again for that. */
static int64_t messages_since(const struct auditing *auditing)
{
    const struct arguments *arguments = auditing->arguments;
    int64_t first_ms = auditing->sent.first_ms;
    bool is_part = arguments->since != NULL || arguments->from != NULL || arguments->to != NULL;

    if (!is_part || arguments->repair || !auditing->tells_sent)
        return 0;
    if (first_ms == INT64_MAX ||
        (auditing->sent.since_ms > 0 && auditing->sent.since_ms < first_ms))
        first_ms = auditing->sent.since_ms;
    return first_ms > CLOCKS_MS ? first_ms - CLOCKS_MS : 0;
}

static int read_messages(struct auditing *auditing, struct error *error)
{
    int status = 0;

    progress_begin(&auditing->progress, "messages read:", 0);
    for (int i = 0; i < auditing->config->relay.sink_count && status == 0; i++)
        if (auditing->sinks[i].is_audited)
            status = read_sink(auditing, i, messages_since(auditing), error);
    progress_end(&auditing->progress);
    return status;
}

/* ---- the comparison ---- */

/* When the topic's first message was stored that is still there; INT64_MAX: there is none. */
static int64_t first_of_topic(const struct audited_sink *sink, int topic)
{
    int64_t first_ms = INT64_MAX;

    for (int i = 0; i < sink->place_count; i++)
        if (sink->places[i].topic == topic && sink->places[i].first_ms < first_ms)
            first_ms = sink->places[i].first_ms;
    return first_ms;
}

/* How much later than its message a row was sent, by the time that the table says. */
static int64_t lag_of(const struct auditing *auditing)
{
    bool by_position = auditing->config->relay.outbox.on_sent == ON_SENT_POSITION;
    int64_t within_ms = by_position ? SENT_WITHIN_S * 1000 : 0;
    int64_t lag_ms = audit_seen(auditing->audit).lag_ms;

    return lag_ms > within_ms ? lag_ms : within_ms;
}

/* Whether retention explains that a row is not held. A partition that is not the row's explains it
 * only for rows that are older than the whole topic: partitions may have been added since. */
static bool may_have_dropped(const struct auditing *auditing, const struct held_place *place,
                             const struct audit_finding *row)
{
    bool is_its_own = place->partition == row->partition || row->partition < 0 ||
                      audit_seen(auditing->audit).has_moved;
    int64_t first_ms =
        is_its_own ? place->first_ms : first_of_topic(&auditing->sinks[row->sink], row->topic);

    if (place->partition < 0)
        return false;
    if (place->may_drop != NULL)
        return true;
    return place->has_dropped &&
           (first_ms == INT64_MAX || row->sent_ms <= first_ms + lag_of(auditing));
}

static enum audit_kind judge_row(const void *closure, const struct audit_finding *row)
{
    const struct auditing *auditing = closure;
    const struct audited_sink *sink = &auditing->sinks[row->sink];

    if (!sink->is_read)
        return AUDIT_NOT_READ;
    for (int i = 0; i < sink->place_count; i++)
        if (sink->places[i].topic == row->topic &&
            may_have_dropped(auditing, &sink->places[i], row))
            return AUDIT_OLD_ROW;
    return AUDIT_MISSING;
}

static int take_known(void *closure, struct text event_id, struct error *error)
{
    return audit_add_known(((struct auditing *)closure)->audit, event_id, error);
}

/* The table has the row of each event whose message is younger than the returned time, which is the
 * start of the retention. If the oldest message has no row, somebody deletes rows earlier: then it
 * is at least the time of the oldest row. The difference of the clocks is added. */
static int64_t find_oldest(const struct auditing *auditing, int64_t first_ms)
{
    int64_t retention_ms = auditing->config->relay.outbox.retention_ms;
    int64_t kept_ms = retention_ms > 0 ? clock_wall_us() / 1000 - retention_ms : 0;
    int64_t oldest_ms = audit_seen(auditing->audit).unknown_is_oldest ? first_ms : 0;
    int64_t lead_ms = audit_seen(auditing->audit).lead_ms;

    oldest_ms = kept_ms > oldest_ms ? kept_ms : oldest_ms;
    return oldest_ms > INT64_MAX - lead_ms ? INT64_MAX : oldest_ms + lead_ms;
}

/* Messages without a row: the table is asked again, which may have it by now. */
static int judge_unknown(struct auditing *auditing, const struct audit_judge *judge,
                         struct error *error)
{
    const struct sent_reader reader = {.on_known = take_known, .closure = auditing};
    const char *why = NULL;
    int64_t first_ms;

    if (audit_seen(auditing->audit).unknown == 0)
        return 0;
    if (!auditing->tells_sent)
        why = auditing->why_not.text;
    else if (auditing->sent.unreadable > 0)
        why = auditing->sent.why;
    else if (admin_read_known(auditing->admin, &reader, &first_ms, error) == 0)
        return audit_judge_unknown(auditing->audit, find_oldest(auditing, first_ms), judge, error);
    else if (error->origin == ERROR_DATABASE && error->kind == ERROR_PERMANENT)
        why = error->text;
    else
        return -1;
    (void)snprintf(auditing->untold, sizeof auditing->untold, "%.500s", why);
    audit_leave_unknown(auditing->audit);
    return 0;
}

/* Of those that are not kept only the number is known, and no repair is tried. */
static void keep_missing(struct auditing *auditing, const struct audit_finding *finding)
{
    char *id = strndup(finding->id.data, finding->id.len);
    char *event_id = strndup(finding->event_id.data, finding->event_id.len);

    auditing->missing_count++;
    if (auditing->missing_kept == AUDIT_REPAIR_MAX || id == NULL || event_id == NULL) {
        free(id);
        free(event_id);
        return;
    }
    auditing->missing_ids[auditing->missing_kept] = id;
    auditing->missing_event_ids[auditing->missing_kept++] = event_id;
}

static void take_finding(void *closure, const struct audit_finding *finding)
{
    struct auditing *auditing = closure;

    if (finding->kind == AUDIT_MISSING && auditing->arguments->repair)
        keep_missing(auditing, finding);
    audit_show_finding(closure, finding);
}

static int compare(struct auditing *auditing, struct error *error)
{
    const struct audit_judge judge = {
        .judge_row = judge_row, .on_finding = take_finding, .closure = auditing};

    return audit_compare(auditing->audit, &judge, error) < 0
               ? -1
               : judge_unknown(auditing, &judge, error);
}

/* ---- repair ---- */

/* Without a terminal to ask on, --yes says it. */
static bool is_confirmed(const struct auditing *auditing)
{
    char answer[16] = "";

    if (auditing->arguments->yes)
        return true;
    (void)fprintf(stderr, "send %s %" PRId64 " event%s again? [y/N] ",
                  auditing->missing_count == 1 ? "this" : "these", auditing->missing_count,
                  PLURAL(auditing->missing_count));
    if (fgets(answer, sizeof answer, stdin) == NULL)
        (void)fprintf(stderr, "\n");
    return answer[0] == 'y' || answer[0] == 'Y';
}

/* Returns how many were copied, or -1. */
static int64_t replay_step(struct auditing *auditing, int64_t from, int count, struct error *error)
{
    const char *const *ids = (const char *const *)auditing->missing_ids + from;
    const char *const *event_ids = (const char *const *)auditing->missing_event_ids + from;
    char expected[16];
    char rate[16];
    struct desk *desk = desk_new(auditing->admin, error);
    int64_t copied = -1;

    (void)snprintf(expected, sizeof expected, "%d", count);
    (void)snprintf(rate, sizeof rate, "%d", auditing->arguments->rate);
    if (desk != NULL && desk_set_array(desk, "ids", ids, count, error) == 0 &&
        desk_set_array(desk, "event_ids", event_ids, count, error) == 0 &&
        desk_set(desk, "expected", expected, error) == 0 &&
        desk_set(desk, "rate", auditing->arguments->rate > 0 ? rate : NULL, error) == 0 &&
        desk_run(desk, text_of(REPAIR_STEPS), error) == 0)
        copied = desk_total(desk);
    desk_free(desk);
    return copied;
}

/* In the order of the ids, so that the events of a key keep their order. */
static int repair(struct auditing *auditing, struct error *error)
{
    int64_t count = auditing->missing_count;
    int64_t copied = 0;

    if (count > auditing->missing_kept) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_SELF,
                        "%" PRId64
                        " events are missing, and at most %d can be repaired one by one: nothing"
                        " was sent again",
                        count, auditing->missing_kept);
        return error_hint(error, "outbox-relay replay --since WHEN sends all rows again that were "
                                 "sent since then");
    }
    if (count == 0 || !is_confirmed(auditing)) {
        (void)fprintf(stderr, count == 0 ? "nothing to repair\n" : "nothing was sent again\n");
        return 0;
    }
    for (int64_t at = 0; at < count; at += REPAIR_STEP) {
        int64_t left = count - at;
        int64_t step =
            replay_step(auditing, at, left < REPAIR_STEP ? (int)left : REPAIR_STEP, error);

        if (step < 0)
            return -1;
        copied += step;
    }
    auditing->is_repaired = copied == count;
    (void)fprintf(stderr,
                  "to be sent again: %" PRId64 ", by relays whose sink is not paused; purged, or"
                  " waiting to be sent again already: %" PRId64 "\n",
                  copied, count - copied);
    return 0;
}

/* ---- the command ---- */

static int check(const struct arguments *arguments, struct error *error)
{
    const char *why = NULL;

    if (!cli_is_utf8(arguments))
        why = "an argument is not UTF-8";
    else if (arguments->since != NULL && (arguments->from != NULL || arguments->to != NULL))
        why = "give --since, or --from and --to, not both";
    else if (arguments->yes && !arguments->repair)
        why = "--yes answers the question of --repair";
    else if (arguments->rate > 0 && !arguments->repair)
        why = "--rate is that of --repair";
    else if (arguments->repair && !arguments->yes && isatty(STDIN_FILENO) != 1)
        why = "--repair asks before it sends; without a terminal give --yes as well";
    return why == NULL ? 0 : cli_refuse("audit", why, error);
}

/* What relays had noticed of these sinks needs no attention any more. An audit of a range of ids
 * does not say that. */
static void forget_losses(struct auditing *auditing)
{
    const struct arguments *arguments = auditing->arguments;
    const char *read[SINKS_MAX];
    struct memory_audit audit = {.sinks = read,
                                 .began_ms = auditing->began_ms,
                                 .is_missing = audit_count(auditing->audit, AUDIT_MISSING) > 0,
                                 .since_ms =
                                     arguments->since != NULL ? auditing->sent.since_ms : 0};
    struct error error;

    for (int i = 0; i < auditing->config->relay.sink_count; i++)
        if (auditing->sinks[i].is_read)
            read[audit.sink_count++] = options_of(auditing, i)->name;
    if (audit.sink_count == 0 || arguments->from != NULL || arguments->to != NULL ||
        admin_forget_losses(auditing->admin, &audit, &error) == 0)
        return;
    (void)fprintf(stderr, "status goes on to name what brokers may have lost: %s\n", error.text);
}

static int audit(struct auditing *auditing, struct error *error)
{
    const struct outbox_options *outbox = &auditing->config->relay.outbox;

    auditing->admin = auditing->arguments->repair ? admin_open_to_write(outbox, error)
                                                  : admin_open(outbox, error);
    if (auditing->admin == NULL || open_sinks(auditing, error) < 0)
        return -1;
    auditing->began_ms = admin_clock_ms(auditing->admin, error);
    if (auditing->began_ms < 0)
        return -1;
    auditing->missing_ids = calloc(AUDIT_REPAIR_MAX, sizeof(*auditing->missing_ids));
    auditing->missing_event_ids = calloc(AUDIT_REPAIR_MAX, sizeof(*auditing->missing_event_ids));
    if (auditing->missing_ids == NULL || auditing->missing_event_ids == NULL)
        return error_no_memory(error);
    auditing->audit = audit_open(AUDIT_MEMORY, error);
    if (auditing->audit == NULL || read_rows(auditing, error) < 0 ||
        read_messages(auditing, error) < 0 || compare(auditing, error) < 0)
        return -1;
    audit_show_summary(auditing);
    forget_losses(auditing);
    return auditing->arguments->repair ? repair(auditing, error) : 0;
}

/* Findings come before what could not be looked at. A repair that worked leaves nothing missing. */
static enum exit_status status_of(const struct auditing *auditing)
{
    for (int kind = 0; kind < AUDIT_FINDINGS; kind++)
        if (audit_count(auditing->audit, (enum audit_kind)kind) > 0 &&
            !(kind == AUDIT_MISSING && auditing->is_repaired))
            return EXIT_RUNTIME;
    for (int i = 0; i < auditing->config->relay.sink_count; i++)
        if (auditing->sinks[i].is_audited && !auditing->sinks[i].is_read)
            return cli_fail(&auditing->sinks[i].error);
    return auditing->tells_sent ? EXIT_DONE : cli_fail(&auditing->why_not);
}

enum exit_status cli_audit(const struct arguments *arguments, struct config *config)
{
    struct auditing *auditing = calloc(1, sizeof *auditing);
    struct error error;
    enum exit_status status;

    if (auditing == NULL) {
        (void)error_no_memory(&error);
        return cli_fail(&error);
    }
    auditing->arguments = arguments;
    auditing->config = config;
    status = check(arguments, &error) < 0 || audit(auditing, &error) < 0 ? cli_fail(&error)
                                                                         : status_of(auditing);
    admin_close(auditing->admin);
    audit_close(auditing->audit);
    close_sinks(auditing);
    for (int i = 0; i < auditing->missing_kept; i++) {
        free(auditing->missing_ids[i]);
        free(auditing->missing_event_ids[i]);
    }
    free(auditing->missing_ids);
    free(auditing->missing_event_ids);
    for (int i = 0; i < AUDIT_SHOWN; i++)
        free(auditing->shown_ids[i]);
    for (int kind = 0; kind < AUDIT_FINDINGS; kind++)
        for (int i = 0; i < AUDIT_SHOWN; i++)
            free(auditing->shown[kind][i]);
    free(auditing);
    return status;
}
