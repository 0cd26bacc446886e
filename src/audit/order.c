/* The order of each key, in each partition or stream: which events came after a later one. */
#include "audit/records.h"

#include <stdlib.h>
#include <string.h>

/* By key and place; then as the broker has them. */
static int compare_placed(const void *a, const void *b)
{
    const struct placed_record *left = *(const struct placed_record *const *)a;
    const struct placed_record *right = *(const struct placed_record *const *)b;
    int order = memcmp(&left->key, &right->key, sizeof left->key);

    if (order == 0)
        order = compare_numbers(left->sink, right->sink);
    if (order == 0)
        order = compare_numbers(left->topic, right->topic);
    if (order == 0)
        order = compare_numbers(left->partition, right->partition);
    return order != 0 ? order : compare_numbers(left->position, right->position);
}

static bool is_same_place(const struct placed_record *a, const struct placed_record *b)
{
    return memcmp(&a->key, &b->key, sizeof a->key) == 0 && a->sink == b->sink &&
           a->topic == b->topic && a->partition == b->partition;
}

static void report(struct audit *audit, const struct audit_judge *judge,
                   const struct placed_record *late, const struct placed_record *later)
{
    enum audit_kind kind = late->is_replayed  ? AUDIT_LATE_REPLAYED
                           : late->was_parked ? AUDIT_LATE_PARKED
                                              : AUDIT_LATE;
    const struct audit_finding finding = {.kind = kind,
                                          .sink = late->sink,
                                          .event_id = {late->texts, late->event_id_len},
                                          .id = {late->texts + late->event_id_len, late->id_len},
                                          .rank = late->rank,
                                          .sent_ms = late->sent_ms,
                                          .topic = late->topic,
                                          .partition = late->partition,
                                          .position = late->position,
                                          .time_ms = late->time_ms,
                                          .after = later->position};

    audit->counts[kind]++;
    if (kind < AUDIT_FINDINGS)
        judge->on_finding(judge->closure, &finding);
}

int audit_compare_order(struct audit *audit, const struct audit_judge *judge, struct error *error)
{
    for (int bucket = 0; bucket < SPILL_BUCKETS; bucket++) {
        const struct placed_record *latest = NULL;
        struct records placed;

        if (records_take(audit->placed, bucket, compare_placed, &placed, error) < 0) {
            records_free(&placed);
            return -1;
        }
        for (size_t i = 0; i < placed.count; i++) {
            const struct placed_record *record = placed.list[i];

            if (latest == NULL || !is_same_place(latest, record) || record->rank > latest->rank)
                latest = record;
            else
                report(audit, judge, record, latest);
        }
        records_free(&placed);
    }
    return 0;
}
