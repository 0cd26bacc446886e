#include "cli/silent_relays.h"

#include "admin/status/status.h"

#include <stdio.h>

#define ANSWERS_MS 1000

void cli_warn_of_silent_relays(struct admin *admin, const struct config *config,
                               const char *consequence)
{
    const struct status_query query = {
        .routes = &config->relay.routes, .wait_ms = ANSWERS_MS, .count_max = 1};
    struct status status;
    struct error ignored; /* what the command is for has been done, or fails with its own error */

    if (admin_status(admin, &query, &status, &ignored) == 0)
        for (int i = 0; i < status.process_count; i++)
            if (status.has_asked && !status.processes[i].answers)
                (void)fprintf(stderr, "outbox-relay: warning: relay %s does not answer: %s\n",
                              status.processes[i].name, consequence);
    status_free(&status);
}
