#include "relay/janitor.h"

#include "base/clock.h"
#include "base/log.h"
#include "source/admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PURGE_MS 10000 /* of a round; the next one goes on */
#define ROUND_MS_MIN 1000
#define ROUND_MS_MAX 60000
#define ADOPT_REST 20 /* times what the last look at the waiting rows took */

static bool is_stopped(const void *stop)
{
    return stop_requested(stop);
}

/* A row that cannot be deleted is named when it is another one than in the round before. */
static void report(const struct purge *purge, const char *named)
{
    char why[sizeof purge->why + 64];

    if (purge->purged > 0)
        log_debug("purged %" PRId64 " sent row%s", purge->purged, PLURAL(purge->purged));
    if (purge->refused == 0 || strcmp(named, purge->row) == 0)
        return;
    (void)snprintf(why, sizeof why, "%" PRId64 " row%s, for the first: %s", purge->refused,
                   PLURAL(purge->refused), purge->why);
    log_event(LOG_WARN, LOG_FIELDS(.row = text_of(purge->row), .error = why, .hint = purge->fix),
              "sent rows cannot be purged");
}

/* With on_sent = "delete" the relay has marked no rows, so marked rows may be the application's own
 * and are kept. */
static int purge(struct admin *admin, const struct outbox_options *options, const struct stop *stop,
                 struct purge *state, struct error *error)
{
    char named[sizeof state->row];
    int status;

    if (!outbox_keeps_sent(options) || options->retention_ms == 0)
        return 0;
    memcpy(named, state->row, sizeof named);
    status = admin_purge(admin, options->retention_ms, PURGE_MS, is_stopped, stop, state, error);
    if (status == 0)
        report(state, named);
    return status;
}

/* Looks at each waiting row, so not in each round where many wait and the retention is short. */
static int adopt_waiting(struct admin *admin, int64_t *due_ms, struct error *error)
{
    int64_t began_ms = clock_now_ms();
    int status = 0;

    if (began_ms < *due_ms)
        return 0;
    status = admin_adopt_waiting(admin, error);
    *due_ms = clock_now_ms() + ADOPT_REST * (clock_now_ms() - began_ms);
    return status;
}

/* One round, on a connection of its own. */
static int run_round(const struct outbox_options *options, const struct stop *stop,
                     struct purge *state, struct upkeep *upkeep, int64_t *adopt_ms,
                     struct error *error)
{
    struct admin *admin = admin_open(options, error);
    struct error other;
    int status;

    if (admin == NULL)
        return -1;
    /* Checked in every round, because the table may have been replaced by another one of that
     * name. */
    if (admin_settle_adoption(admin, error) < 0) {
        admin_close(admin);
        return -1;
    }
    if (admin_check_slices(admin, &other) < 0)
        log_event(LOG_ERROR, LOG_FIELDS(.error = other.text, .hint = other.hint),
                  "events of some slices are not sent");
    status = admin_upkeep(admin, upkeep, error);
    if (adopt_waiting(admin, adopt_ms, status < 0 ? &other : error) < 0)
        status = -1;
    if (purge(admin, options, stop, state, status < 0 ? &other : error) < 0)
        status = -1;
    admin_close(admin);
    return status;
}

static int64_t choose_round_ms(const struct outbox_options *options)
{
    int64_t round_ms = options->retention_ms / 10;

    if (options->retention_ms == 0 || round_ms > ROUND_MS_MAX)
        return ROUND_MS_MAX;
    return round_ms < ROUND_MS_MIN ? ROUND_MS_MIN : round_ms;
}

void janitor_run(const struct outbox_options *options, const _Atomic int64_t *retention_ms,
                 const struct stop *stop)
{
    struct outbox_options now = *options;
    struct purge state = {0};
    struct upkeep upkeep = {0};
    int64_t adopt_ms = 0;
    struct error error;

    now.retention_ms = atomic_load(retention_ms);
    while (!stop_wait(stop, choose_round_ms(&now))) {
        now.retention_ms = atomic_load(retention_ms);
        if (run_round(&now, stop, &state, &upkeep, &adopt_ms, &error) < 0)
            log_event(LOG_WARN, LOG_FIELDS(.error = error.text, .hint = error.hint),
                      "the janitor's round failed");
    }
}
