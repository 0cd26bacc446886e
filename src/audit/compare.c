/* Compares the rows and the messages of each event. */
#include "audit/records.h"

#include <stdlib.h>
#include <string.h>

/* ---- one event at one sink ---- */

/* Its rows and its messages. */
struct part {
    struct audit *audit;
    const struct record *const *rows;
    size_t row_count;
    const struct record *const *held;
    size_t held_count;
};

static void report(const struct part *part, enum audit_kind kind, const struct record *row,
                   const struct record *held)
{
    records_report(part->audit, kind, records_finding(row, held));
}

/* Whether one of the rows has the message's content. */
static bool is_content_of_row(const struct part *part, const struct record *held)
{
    return bsearch(&held, part->rows, part->row_count, sizeof(*part->rows),
                   records_compare_contents) != NULL;
}

static int place(struct audit *audit, const struct record *row, const struct record *held,
                 struct error *error)
{
    struct record *placed;

    if (!row->has_key)
        return 0;
    placed = records_copy(audit->placed, row, error);
    if (placed == NULL)
        return -1;
    placed->topic = held->topic;
    placed->partition = held->partition;
    placed->position = held->position;
    placed->time_ms = held->time_ms;
    placed->is_replayed = held->is_replayed;
    return 0;
}

static void measure_lag(struct audit *audit, const struct record *row, const struct record *held)
{
    int64_t lag_ms = row->sent_ms - held->time_ms;

    if (held->is_replayed)
        return;
    audit->seen.lag_ms = lag_ms > audit->seen.lag_ms ? lag_ms : audit->seen.lag_ms;
    audit->seen.lead_ms = -lag_ms > audit->seen.lead_ms ? -lag_ms : audit->seen.lead_ms;
    if (held->time_ms < audit->first_found_ms)
        audit->first_found_ms = held->time_ms;
}

/* Which of the two came first. In a partition they are sorted, and the next one is the later. */
static const struct record *earlier(const struct record *first, const struct record *next)
{
    bool is_same =
        first != NULL && first->topic == next->topic && first->partition == next->partition;

    return first == NULL || (!is_same && next->time_ms < first->time_ms) ? next : first;
}

/* The first row in the order of the ids. */
static const struct record *first_row(const struct part *part)
{
    const struct record *first = part->rows[0];

    for (size_t i = 1; i < part->row_count; i++)
        if (part->rows[i]->rank < first->rank)
            first = part->rows[i];
    return first;
}

/* Whether the content of all rows is known. */
static bool has_contents(const struct part *part)
{
    for (size_t i = 0; i < part->row_count; i++)
        if (!part->rows[i]->has_content)
            return false;
    return true;
}

/* Each row is to have a message there, and there is one at least. */
static int judge_held(const struct part *part, struct error *error)
{
    struct audit *audit = part->audit;
    const struct record *row = first_row(part);
    const struct record *first = NULL;
    const struct record *first_replayed = NULL;
    const struct record *altered = NULL;
    size_t originals = 0;
    bool compared = has_contents(part);

    for (size_t i = 0; i < part->held_count; i++) {
        const struct record *held = part->held[i];

        if (altered == NULL && compared && !is_content_of_row(part, held))
            altered = held;
        if (held->is_replayed) {
            first_replayed = earlier(first_replayed, held);
            report(part, AUDIT_REPLAYED, row, held);
            continue;
        }
        first = earlier(first, held);
        if (++originals > part->row_count)
            report(part, AUDIT_AGAIN, row, held);
    }
    if (first == NULL)
        first = first_replayed;
    audit->counts[AUDIT_FOUND] += (int64_t)part->row_count;
    measure_lag(audit, row, first);
    if (part->row_count == 1 && row->partition >= 0 && row->partition != first->partition &&
        row->route_key == first->route_key)
        audit->seen.has_moved = true;
    if (altered != NULL)
        report(part, AUDIT_ALTERED, row, altered);
    else if (!compared)
        report(part, AUDIT_NOT_COMPARED, row, first);
    return place(audit, row, first, error);
}

/* What the rows are is known once all others are compared, unless another sink holds the event. */
static int judge_not_held(const struct part *part, const struct record *elsewhere,
                          struct error *error)
{
    for (size_t i = 0; i < part->row_count; i++)
        if (elsewhere != NULL)
            report(part, AUDIT_ELSEWHERE, part->rows[i], elsewhere);
        else if (records_copy(part->audit->absent, part->rows[i], error) == NULL)
            return -1;
    return 0;
}

/* Messages of an event without a row: the first is kept for audit_judge_unknown(), the others are
 * again there. */
static int keep_unknown(const struct part *part, struct error *error)
{
    struct audit *audit = part->audit;
    const struct record *first = NULL;

    for (size_t i = 0; i < part->held_count; i++) {
        const struct record *held = part->held[i];

        if (held->time_ms < audit->first_unknown_ms)
            audit->first_unknown_ms = held->time_ms;
        if (held->is_replayed)
            report(part, AUDIT_REPLAYED, NULL, held);
        else if (first != NULL && !first->is_replayed)
            report(part, AUDIT_AGAIN, NULL, held);
        if (first == NULL || (first->is_replayed && !held->is_replayed))
            first = held;
    }
    audit->seen.unknown++;
    return records_copy(audit->unknown, first, error) != NULL ? 0 : -1;
}

/* ---- one event ---- */

/* Its records, in their order. */
struct event {
    char *bytes;
    size_t len, capacity;
    const struct record **list;
    size_t count, list_capacity;
};

static int keep(struct event *event, const struct record *record, struct error *error)
{
    if (event->len + record->size > event->capacity) {
        size_t capacity = 2 * (event->len + record->size);
        char *grown = realloc(event->bytes, capacity);

        if (grown == NULL)
            return error_no_memory(error);
        event->bytes = grown;
        event->capacity = capacity;
    }
    memcpy(event->bytes + event->len, record, record->size);
    event->len += record->size;
    event->count++;
    return 0;
}

static int list_records(struct event *event, struct error *error)
{
    const struct record *record = (const struct record *)(const void *)event->bytes;

    if (event->count > event->list_capacity) {
        const struct record **grown = realloc(event->list, 2 * event->count * sizeof *grown);

        if (grown == NULL)
            return error_no_memory(error);
        event->list = grown;
        event->list_capacity = 2 * event->count;
    }
    for (size_t i = 0; i < event->count; i++) {
        event->list[i] = record;
        record = (const struct record *)(const void *)((const char *)record + record->size);
    }
    return 0;
}

/* Replaces the event by the next one. Returns 1, or 0 when there is none, or -1. */
static int next_event(struct sorter *sorter, struct event *event, struct error *error)
{
    const struct record *next;

    event->len = event->count = 0;
    while ((next = sorter_first(sorter)) != NULL &&
           (event->count == 0 ||
            records_compare_ids((const struct record *)(const void *)event->bytes, next) == 0))
        if (keep(event, next, error) < 0 || sorter_drop(sorter, error) < 0)
            return -1;
    if (event->count == 0)
        return 0;
    return list_records(event, error) == 0 ? 1 : -1;
}

static void free_event(struct event *event)
{
    free(event->bytes);
    free(event->list);
}

/* Its records at the sink of the record `at`, which is the first of them. */
static struct part part_of(struct audit *audit, const struct event *event, size_t at)
{
    int32_t sink = event->list[at]->sink;
    struct part part = {.audit = audit, .rows = event->list + at};

    for (; at < event->count && event->list[at]->sink == sink; at++)
        if (event->list[at]->kind == RECORD_ROW)
            part.row_count++;
        else
            part.held_count++;
    part.held = part.rows + part.row_count;
    return part;
}

static int judge_event(struct audit *audit, const struct event *event, struct error *error)
{
    const struct record *elsewhere = NULL; /* the first message at a sink without a row */
    bool has_row = false;
    struct part part;
    int status = 0;

    for (size_t at = 0; at < event->count; at += part.row_count + part.held_count) {
        part = part_of(audit, event, at);
        has_row = has_row || part.row_count > 0;
        if (part.row_count == 0 && elsewhere == NULL)
            elsewhere = part.held[0];
    }
    for (size_t at = 0; at < event->count && status == 0; at += part.row_count + part.held_count) {
        part = part_of(audit, event, at);
        if (!has_row)
            status = keep_unknown(&part, error);
        else if (part.held_count == 0)
            status = judge_not_held(&part, elsewhere, error);
        else if (part.row_count > 0)
            status = judge_held(&part, error);
    }
    return status;
}

/* ---- all events ---- */

static int judge_events(struct audit *audit, struct error *error)
{
    struct event event = {0};
    int status = sorter_begin(audit->events, error) < 0 ? -1 : 1;

    while (status > 0 && (status = next_event(audit->events, &event, error)) > 0)
        if (judge_event(audit, &event, error) < 0)
            status = -1;
    free_event(&event);
    return status;
}

/* Rows that are not held. What may have been dropped depends on the times of all others. */
static int judge_absent(struct audit *audit, struct error *error)
{
    const struct audit_judge *judge = audit->judge;
    const struct record *row;

    if (sorter_begin(audit->absent, error) < 0)
        return -1;
    while ((row = sorter_first(audit->absent)) != NULL) {
        const struct audit_finding finding = records_finding(row, NULL);

        records_report(audit, judge->judge_row(judge->closure, &finding), finding);
        if (sorter_drop(audit->absent, error) < 0)
            return -1;
    }
    return 0;
}

int audit_compare(struct audit *audit, const struct audit_judge *judge, struct error *error)
{
    audit->judge = judge;
    return judge_events(audit, error) < 0 || judge_absent(audit, error) < 0
               ? -1
               : records_compare_order(audit, error);
}

int audit_judge_unknown(struct audit *audit, int64_t oldest_ms, const struct audit_judge *judge,
                        struct error *error)
{
    struct event event = {0};
    int status = sorter_begin(audit->unknown, error) < 0 ? -1 : 1;

    audit->judge = judge;
    while (status > 0 && (status = next_event(audit->unknown, &event, error)) > 0)
        for (size_t i = 0; i < event.count; i++) {
            const struct record *held = event.list[i];

            if (held->kind == RECORD_HELD)
                records_report(audit,
                               event.list[0]->kind == RECORD_KNOWN ? AUDIT_NEWER
                               : held->time_ms < oldest_ms         ? AUDIT_OLD_HELD
                                                                   : AUDIT_UNKNOWN,
                               records_finding(NULL, held));
        }
    free_event(&event);
    audit->seen.unknown = 0;
    return status;
}
