#include "relay/janitor.h"

#include "base/log.h"
#include "outbox/admin.h"

#include <inttypes.h>

#define ROUND_MS_MIN 1000
#define ROUND_MS_MAX 60000

/* One round: until no row at the front of the table is old enough. The connection lives as long. */
static int purge_round(const struct outbox_options *options, const struct stop *stop,
                       struct error *error)
{
    struct admin *admin = admin_open(options, error);
    int64_t purged = 1;
    int64_t total = 0;

    if (admin == NULL)
        return -1;
    while (purged > 0 && !stop_requested(stop)) {
        if (admin_purge_batch(admin, options->retention_ms, &purged, error) < 0) {
            admin_close(admin);
            return -1;
        }
        total += purged;
    }
    admin_close(admin);
    if (total > 0)
        log_debug("purged %" PRId64 " sent rows", total);
    return 0;
}

void janitor_run(const struct outbox_options *options, const struct stop *stop)
{
    int64_t round_ms = options->retention_ms / 10;
    struct error error;

    if (options->on_sent != ON_SENT_MARK || options->retention_ms == 0)
        return;
    if (round_ms < ROUND_MS_MIN)
        round_ms = ROUND_MS_MIN;
    if (round_ms > ROUND_MS_MAX)
        round_ms = ROUND_MS_MAX;
    while (!stop_wait(stop, round_ms))
        if (purge_round(options, stop, &error) < 0)
            log_warn("purge: %s", error.text);
}
