/* Compares the rows and the messages of each event, a bucket of events at a time. */
#include "audit/records.h"

#include <stdlib.h>
#include <string.h>

static int compare_ids(const char *a, size_t a_len, const char *b, size_t b_len)
{
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static int compare_rows_by_sink(const struct row_record *left, const struct row_record *right)
{
    int order = compare_ids(left->texts, left->event_id_len, right->texts, right->event_id_len);

    return order != 0 ? order : compare_numbers(left->sink, right->sink);
}

/* By event, sink and content. */
static int compare_rows(const void *a, const void *b)
{
    const struct row_record *left = *(const struct row_record *const *)a;
    const struct row_record *right = *(const struct row_record *const *)b;
    int order = compare_rows_by_sink(left, right);

    if (order == 0)
        order = memcmp(&left->content, &right->content, sizeof left->content);
    return order != 0 ? order : compare_numbers(left->rank, right->rank);
}

/* By event and sink, and in the order of the ids. */
static int compare_absent(const void *a, const void *b)
{
    const struct row_record *left = *(const struct row_record *const *)a;
    const struct row_record *right = *(const struct row_record *const *)b;
    int order = compare_rows_by_sink(left, right);

    return order != 0 ? order : compare_numbers(left->rank, right->rank);
}

/* By event, sink and place. */
static int compare_held(const void *a, const void *b)
{
    const struct held_record *left = *(const struct held_record *const *)a;
    const struct held_record *right = *(const struct held_record *const *)b;
    int order = compare_ids(left->texts, left->event_id_len, right->texts, right->event_id_len);

    if (order == 0)
        order = compare_numbers(left->sink, right->sink);
    if (order == 0)
        order = compare_numbers(left->topic, right->topic);
    if (order == 0)
        order = compare_numbers(left->partition, right->partition);
    return order != 0 ? order : compare_numbers(left->position, right->position);
}

static int compare_known(const void *a, const void *b)
{
    const struct known_record *left = *(const struct known_record *const *)a;
    const struct known_record *right = *(const struct known_record *const *)b;

    return compare_ids(left->texts, left->event_id_len, right->texts, right->event_id_len);
}

/* ---- one event ---- */

/* The rows and the messages of an event, or those of one sink: parts of the sorted lists. */
struct event {
    struct audit *audit;
    const struct audit_judge *judge;
    const struct row_record *const *rows;
    size_t row_count;
    const struct held_record *const *held;
    size_t held_count;
};

static struct audit_finding finding_of(const struct row_record *row)
{
    return (struct audit_finding){.event_id = {row->texts, row->event_id_len},
                                  .id = {row->texts + row->event_id_len, row->id_len},
                                  .rank = row->rank,
                                  .sent_ms = row->sent_ms,
                                  .sink = row->sink,
                                  .topic = row->topic,
                                  .partition = row->partition,
                                  .position = -1};
}

static void report(const struct event *event, enum audit_kind kind, const struct row_record *row,
                   const struct held_record *held)
{
    struct audit_finding finding = {.partition = -1, .position = -1};

    event->audit->counts[kind]++;
    if (kind >= AUDIT_FINDINGS)
        return;
    if (row != NULL)
        finding = finding_of(row);
    if (held != NULL) {
        finding.event_id = (struct text){held->texts, held->event_id_len};
        finding.sink = held->sink;
        finding.topic = held->topic;
        finding.partition = held->partition;
        finding.position = held->position;
        finding.time_ms = held->time_ms;
    }
    finding.kind = kind;
    event->judge->on_finding(event->judge->closure, &finding);
}

/* Whether one of the rows has the message's content. */
static bool is_content_of_row(const struct event *event, const struct held_record *held)
{
    size_t low = 0;
    size_t high = event->row_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = memcmp(&event->rows[middle]->content, &held->content, sizeof held->content);

        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static int place(const struct event *event, const struct row_record *row,
                 const struct held_record *held, struct error *error)
{
    size_t text_len = (size_t)row->event_id_len + row->id_len;
    uint32_t size;
    struct placed_record *record;

    if (!row->has_key)
        return 0;
    record = audit_record(event->audit, sizeof *record, text_len, &size);
    if (record == NULL)
        return error_no_memory(error);
    *record = (struct placed_record){.size = size,
                                     .event_id_len = row->event_id_len,
                                     .id_len = row->id_len,
                                     .was_parked = row->was_parked,
                                     .is_replayed = held->is_replayed,
                                     .place = {.key = row->key,
                                               .sink = held->sink,
                                               .topic = held->topic,
                                               .partition = held->partition},
                                     .rank = row->rank,
                                     .position = held->position,
                                     .time_ms = held->time_ms,
                                     .sent_ms = row->sent_ms};
    memcpy(record->texts, row->texts, text_len);
    return spill_put(event->audit->placed,
                     audit_bucket_of((const char *)row->key.bytes, sizeof row->key.bytes), record,
                     size, error);
}

static void measure_lag(struct audit *audit, const struct row_record *row,
                        const struct held_record *held)
{
    int64_t lag_ms = row->sent_ms - held->time_ms;

    if (held->is_replayed)
        return;
    audit->lag_ms = lag_ms > audit->lag_ms ? lag_ms : audit->lag_ms;
    audit->lead_ms = -lag_ms > audit->lead_ms ? -lag_ms : audit->lead_ms;
    if (held->time_ms < audit->first_found_ms)
        audit->first_found_ms = held->time_ms;
}

/* Which of the two came first. In a partition they are sorted, and the next one is the later. */
static const struct held_record *earlier(const struct held_record *first,
                                         const struct held_record *next)
{
    bool is_same =
        first != NULL && first->topic == next->topic && first->partition == next->partition;

    return first == NULL || (!is_same && next->time_ms < first->time_ms) ? next : first;
}

/* Of the rows of one sink: the first, in the order of the ids. */
static const struct row_record *first_row(const struct event *event)
{
    const struct row_record *first = event->rows[0];

    for (size_t i = 1; i < event->row_count; i++)
        if (event->rows[i]->rank < first->rank)
            first = event->rows[i];
    return first;
}

/* Whether the content of all rows is known. */
static bool has_contents(const struct event *event)
{
    for (size_t i = 0; i < event->row_count; i++)
        if (!event->rows[i]->has_content)
            return false;
    return true;
}

/* One sink. Each row is to have a message there, and there is one at least. */
static int judge_sink(const struct event *event, struct error *error)
{
    const struct row_record *row = first_row(event);
    const struct held_record *first = NULL;
    const struct held_record *first_replayed = NULL;
    const struct held_record *altered = NULL;
    size_t originals = 0;
    bool compared = has_contents(event);

    for (size_t i = 0; i < event->held_count; i++) {
        const struct held_record *held = event->held[i];

        if (altered == NULL && compared && !is_content_of_row(event, held))
            altered = held;
        if (held->is_replayed) {
            first_replayed = earlier(first_replayed, held);
            report(event, AUDIT_REPLAYED, row, held);
            continue;
        }
        first = earlier(first, held);
        if (++originals > event->row_count)
            report(event, AUDIT_AGAIN, row, held);
    }
    if (first == NULL)
        first = first_replayed;
    event->audit->counts[AUDIT_FOUND] += (int64_t)event->row_count;
    measure_lag(event->audit, row, first);
    if (event->row_count == 1 && row->partition >= 0 && row->partition != first->partition &&
        row->route_key == first->route_key)
        event->audit->has_moved = true;
    if (altered != NULL)
        report(event, AUDIT_ALTERED, row, altered);
    else if (!compared)
        report(event, AUDIT_NOT_COMPARED, row, first);
    return place(event, row, first, error);
}

/* Keeps the first message of each sink for audit_judge_unknown(); the others are again there. */
static int keep_unknown(const struct event *event, struct error *error)
{
    struct audit *audit = event->audit;
    const struct held_record *first = NULL;

    for (size_t i = 0; i < event->held_count; i++) {
        const struct held_record *held = event->held[i];
        bool is_last = i + 1 == event->held_count || event->held[i + 1]->sink != held->sink;

        if (held->time_ms < audit->first_unknown_ms)
            audit->first_unknown_ms = held->time_ms;
        if (held->is_replayed)
            report(event, AUDIT_REPLAYED, NULL, held);
        else if (first != NULL && !first->is_replayed)
            report(event, AUDIT_AGAIN, NULL, held);
        if (first == NULL || (first->is_replayed && !held->is_replayed))
            first = held;
        if (!is_last)
            continue;
        audit->unknown_count++;
        if (spill_put(audit->unknown, audit_bucket_of(first->texts, first->event_id_len), first,
                      first->size, error) < 0)
            return -1;
        first = NULL;
    }
    return 0;
}

static int keep_absent(struct audit *audit, const struct row_record *row, struct error *error)
{
    if (audit->absent == NULL && (audit->absent = spill_open(error)) == NULL)
        return -1;
    return spill_put(audit->absent, audit_bucket_of(row->texts, row->event_id_len), row, row->size,
                     error);
}

/* The first message at a sink where the event has no row; NULL: there is none. */
static const struct held_record *find_elsewhere(const struct event *event)
{
    size_t row = 0;

    for (size_t i = 0; i < event->held_count; i++) {
        while (row < event->row_count && event->rows[row]->sink < event->held[i]->sink)
            row++;
        if (row == event->row_count || event->rows[row]->sink != event->held[i]->sink)
            return event->held[i];
    }
    return NULL;
}

/* The rows of one sink, of which `row` is the first, and its messages, none of which is before
 * `at`. */
static struct event part_of_sink(const struct event *event, size_t row, size_t at)
{
    int32_t sink = event->rows[row]->sink;
    struct event part = *event;

    while (at < event->held_count && event->held[at]->sink < sink)
        at++;
    part.rows += row;
    part.held += at;
    part.row_count = part.held_count = 0;
    while (row + part.row_count < event->row_count && part.rows[part.row_count]->sink == sink)
        part.row_count++;
    while (at + part.held_count < event->held_count && part.held[part.held_count]->sink == sink)
        part.held_count++;
    return part;
}

/* One sink, which does not hold the event. */
static int judge_not_held(const struct event *part, const struct held_record *elsewhere,
                          struct error *error)
{
    for (size_t i = 0; i < part->row_count; i++)
        if (elsewhere != NULL)
            report(part, AUDIT_ELSEWHERE, part->rows[i], elsewhere);
        else if (keep_absent(part->audit, part->rows[i], error) < 0)
            return -1;
    return 0;
}

static int judge_event(const struct event *event, struct error *error)
{
    const struct held_record *elsewhere = find_elsewhere(event);
    struct event part;
    size_t at = 0;
    int status = event->row_count > 0 ? 0 : keep_unknown(event, error);

    for (size_t row = 0; row < event->row_count && status == 0; row += part.row_count) {
        part = part_of_sink(event, row, at);
        at = (size_t)(part.held - event->held) + part.held_count;
        if (part.held_count > 0)
            status = judge_sink(&part, error);
        else
            status = judge_not_held(&part, elsewhere, error);
    }
    return status;
}

/* ---- all events ---- */

static bool is_row_of_event(const struct row_record *a, const struct row_record *b)
{
    return compare_ids(a->texts, a->event_id_len, b->texts, b->event_id_len) == 0;
}

static size_t rows_of_event(const struct records *rows, size_t from)
{
    size_t to = from + 1;

    while (to < rows->count && is_row_of_event(rows->list[from], rows->list[to]))
        to++;
    return to;
}

static bool is_same_event(const struct held_record *a, const struct held_record *b)
{
    return compare_ids(a->texts, a->event_id_len, b->texts, b->event_id_len) == 0;
}

static size_t held_of_event(const struct records *held, size_t from)
{
    size_t to = from + 1;

    while (to < held->count && is_same_event(held->list[from], held->list[to]))
        to++;
    return to;
}

/* Which of the two has the lower event id: below 0 the row, above 0 the message. */
static int compare_next(const struct records *rows, size_t row, const struct records *held,
                        size_t at)
{
    const struct row_record *left = row < rows->count ? rows->list[row] : NULL;
    const struct held_record *right = at < held->count ? held->list[at] : NULL;

    if (left == NULL || right == NULL)
        return left == NULL ? 1 : -1;
    return compare_ids(left->texts, left->event_id_len, right->texts, right->event_id_len);
}

static int compare_bucket(struct audit *audit, const struct audit_judge *judge,
                          const struct records *rows, const struct records *held,
                          struct error *error)
{
    size_t row = 0;
    size_t at = 0;

    while (row < rows->count || at < held->count) {
        int order = compare_next(rows, row, held, at);
        size_t rows_end = order <= 0 ? rows_of_event(rows, row) : row;
        size_t held_end = order >= 0 ? held_of_event(held, at) : at;
        const struct event event = {
            .audit = audit,
            .judge = judge,
            .rows = (const struct row_record *const *)(const void *)&rows->list[row],
            .row_count = rows_end - row,
            .held = (const struct held_record *const *)(const void *)&held->list[at],
            .held_count = held_end - at};

        if (judge_event(&event, error) < 0)
            return -1;
        row = rows_end;
        at = held_end;
    }
    return 0;
}

/* Rows that are not held. What may have been dropped depends on the times of all others. */
static int judge_absent(struct audit *audit, const struct audit_judge *judge, struct error *error)
{
    const struct event event = {.audit = audit, .judge = judge};

    for (int bucket = 0; audit->absent != NULL && bucket < SPILL_BUCKETS; bucket++) {
        struct records rows;
        int status = records_take(audit->absent, bucket, compare_absent, &rows, error);

        for (size_t i = 0; status == 0 && i < rows.count; i++) {
            const struct row_record *row = rows.list[i];
            const struct audit_finding finding = finding_of(row);

            report(&event, judge->judge_row(judge->closure, &finding), row, NULL);
        }
        records_free(&rows);
        if (status < 0)
            return -1;
    }
    return 0;
}

int audit_compare(struct audit *audit, const struct audit_judge *judge, struct error *error)
{
    int status = 0;

    for (int bucket = 0; bucket < SPILL_BUCKETS && status == 0; bucket++) {
        struct records rows = {NULL, NULL, 0};
        struct records held = {NULL, NULL, 0};

        if (records_take(audit->rows, bucket, compare_rows, &rows, error) < 0 ||
            records_take(audit->held, bucket, compare_held, &held, error) < 0 ||
            compare_bucket(audit, judge, &rows, &held, error) < 0)
            status = -1;
        records_free(&rows);
        records_free(&held);
    }
    if (status < 0 || judge_absent(audit, judge, error) < 0)
        return -1;
    return audit_compare_order(audit, judge, error);
}

/* ---- events without a row ---- */

static bool is_known(const struct records *known, const struct held_record *held)
{
    size_t low = 0;
    size_t high = known->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct known_record *record = known->list[middle];
        int order =
            compare_ids(record->texts, record->event_id_len, held->texts, held->event_id_len);

        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static int judge_bucket(struct audit *audit, int bucket, int64_t oldest_ms,
                        const struct audit_judge *judge, struct error *error)
{
    const struct event event = {.audit = audit, .judge = judge};
    struct records known = {NULL, NULL, 0};
    struct records held = {NULL, NULL, 0};
    int status = -1;

    if ((audit->known == NULL ||
         records_take(audit->known, bucket, compare_known, &known, error) == 0) &&
        records_take(audit->unknown, bucket, compare_held, &held, error) == 0)
        status = 0;
    for (size_t i = 0; status == 0 && i < held.count; i++) {
        const struct held_record *message = held.list[i];

        report(&event,
               is_known(&known, message)      ? AUDIT_NEWER
               : message->time_ms < oldest_ms ? AUDIT_OLD_HELD
                                              : AUDIT_UNKNOWN,
               NULL, message);
    }
    records_free(&known);
    records_free(&held);
    return status;
}

int audit_judge_unknown(struct audit *audit, int64_t oldest_ms, const struct audit_judge *judge,
                        struct error *error)
{
    for (int bucket = 0; bucket < SPILL_BUCKETS; bucket++)
        if (judge_bucket(audit, bucket, oldest_ms, judge, error) < 0)
            return -1;
    audit->unknown_count = 0;
    return 0;
}
