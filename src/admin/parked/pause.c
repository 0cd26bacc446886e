#include "admin/parked/pause.h"

#include "admin/admin_session.h"
#include "base/clock.h"
#include "source/pauses.h"
#include "sql/statements.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 20

/* NULL with *error set. */
static PGresult *find_claims(struct admin *admin, const char *among, struct error *error)
{
    const char *params[1] = {among};

    return admin_query(admin, statement_open_claims, 1, params, error);
}

int admin_wait_for_claims(struct admin *admin, struct error *error)
{
    int64_t until_ms =
        clock_now_ms() + admin->options->publish_timeout_ms + OUTBOX_SLACK_MS + LOOK_MS;
    PGresult *result = find_claims(admin, NULL, error);
    char *open = result != NULL ? strdup(PQgetvalue(result, 0, 0)) : NULL;
    int left = result != NULL ? (int)strtol(PQgetvalue(result, 0, 1), NULL, 10) : -1;

    if (result != NULL && open == NULL)
        left = error_no_memory(error);
    PQclear(result);
    while (left > 0 && clock_left_ms(until_ms) > 0) {
        (void)poll(NULL, 0, LOOK_MS);
        result = find_claims(admin, open, error);
        left = result != NULL ? (int)strtol(PQgetvalue(result, 0, 1), NULL, 10) : -1;
        PQclear(result);
    }
    free(open);
    return left;
}
