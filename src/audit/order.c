/* The order of each key, in each partition or stream: which events came after a later one. */
#include "audit/records.h"

static void report_late(struct audit *audit, const struct record *late, int64_t after)
{
    struct audit_finding finding = records_finding(late, NULL);

    finding.after = after;
    records_report(audit,
                   late->is_replayed  ? AUDIT_LATE_REPLAYED
                   : late->was_parked ? AUDIT_LATE_PARKED
                                      : AUDIT_LATE,
                   finding);
}

int records_compare_order(struct audit *audit, struct error *error)
{
    struct record latest = {0}; /* of the highest rank so far at its place */
    const struct record *next;
    bool is_first = true;

    if (sorter_begin(audit->placed, error) < 0)
        return -1;
    while ((next = sorter_first(audit->placed)) != NULL) {
        if (!is_first && records_compare_places(&latest, next) == 0 && next->rank <= latest.rank)
            report_late(audit, next, latest.position);
        else
            latest = *next; /* without its texts */
        is_first = false;
        if (sorter_drop(audit->placed, error) < 0)
            return -1;
    }
    return 0;
}
