#ifndef MESSAGE_DECLINED_H
#define MESSAGE_DECLINED_H

#include "message/batch.h"

/*
 * Rows that a configuration declines (VERDICT_DECLINED) wait for another one: that of another
 * relay, or of this one after a restart. A lane remembers the waits_for of rows that it has
 * declined, and does not claim their probes for a while. The probe is due at once, so a lane that
 * has not declined it tries it. An operator may have corrected the row, so the lane forgets.
 *
 * At most DECLINED_MAX are remembered, of at most DECLINED_BYTES_MAX bytes. The probes of others
 * are tried at each back-off, as those of missing topics.
 */

/* What such rows wait for begins so. It contains blanks, so it is no destination. */
#define DECLINED_PREFIX "a configuration that "

#define DECLINED_MAX 256
#define DECLINED_BYTES_MAX 256

struct declined {
    struct declined_item {
        int64_t until_ms;
        size_t len;
        char waits_for[DECLINED_BYTES_MAX];
    } items[DECLINED_MAX];
    int count;
};

/* Remembers for `for_ms` what each declined message of the batch waits for, and makes such a
 * message due at once. */
void declined_note(struct declined *declined, struct batch *batch, int64_t for_ms, int64_t now_ms);
/* Forgets those whose time is over. */
void declined_forget(struct declined *declined, int64_t now_ms);

#endif
