/* The order of each key, in each partition or stream: which events came after a later one. */
#include "audit/records.h"

#include <string.h>

static int compare_places(const struct place *a, const struct place *b)
{
    int order = memcmp(&a->key, &b->key, sizeof a->key);

    if (order == 0)
        order = compare_numbers(a->sink, b->sink);
    if (order == 0)
        order = compare_numbers(a->topic, b->topic);
    return order != 0 ? order : compare_numbers(a->partition, b->partition);
}

/* By key and place; then as the broker has them. */
static int compare_placed(const void *a, const void *b)
{
    const struct placed_record *left = *(const struct placed_record *const *)a;
    const struct placed_record *right = *(const struct placed_record *const *)b;
    int order = compare_places(&left->place, &right->place);

    if (order == 0)
        order = compare_numbers(left->position, right->position);
    return order != 0 ? order : compare_numbers(left->rank, right->rank);
}

/* What was visited so far: the event of the highest rank at the last place. */
struct order {
    struct audit *audit;
    const struct audit_judge *judge;
    bool has_latest;
    struct place place;
    int64_t rank;
    int64_t position;
};

static void report(const struct order *order, const struct placed_record *late)
{
    enum audit_kind kind = late->is_replayed  ? AUDIT_LATE_REPLAYED
                           : late->was_parked ? AUDIT_LATE_PARKED
                                              : AUDIT_LATE;
    const struct audit_finding finding = {.kind = kind,
                                          .sink = late->place.sink,
                                          .event_id = {late->texts, late->event_id_len},
                                          .id = {late->texts + late->event_id_len, late->id_len},
                                          .rank = late->rank,
                                          .sent_ms = late->sent_ms,
                                          .topic = late->place.topic,
                                          .partition = late->place.partition,
                                          .position = late->position,
                                          .time_ms = late->time_ms,
                                          .after = order->position};

    order->audit->counts[kind]++;
    if (kind < AUDIT_FINDINGS)
        order->judge->on_finding(order->judge->closure, &finding);
}

static void visit(void *closure, const void *visited)
{
    struct order *order = closure;
    const struct placed_record *record = visited;

    if (order->has_latest && compare_places(&order->place, &record->place) == 0 &&
        record->rank <= order->rank) {
        report(order, record);
        return;
    }
    order->has_latest = true;
    order->place = record->place;
    order->rank = record->rank;
    order->position = record->position;
}

int audit_compare_order(struct audit *audit, const struct audit_judge *judge, struct error *error)
{
    struct order order = {.audit = audit, .judge = judge};
    const struct visitor visitor = {compare_placed, visit, &order};

    for (int bucket = 0; bucket < SPILL_BUCKETS; bucket++)
        if (records_visit(audit->placed, bucket, audit->order_bytes, &visitor, error) < 0)
            return -1;
    return 0;
}
