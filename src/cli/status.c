#include "cli/cli.h"

#include "admin/status.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WATCH_S 2
#define ANSWERS_MS 1000

static void print_reasons(const struct status *status)
{
    char text[256];

    for (int i = 0; i < status->reason_count; i++) {
        const struct status_reason *reason = &status->reasons[i];

        (void)printf("  %" PRId64 "  %s\n", reason->count,
                     terminal_text(text, sizeof text, text_of(reason->text), false));
    }
}

static void print_text(const struct status *status)
{
    (void)printf("backlog  %" PRId64 "%s\n", status->backlog,
                 status->backlog_is_bound ? " or more" : "");
    if (status->oldest_s >= 0)
        (void)printf("oldest   %.1f s\n", status->oldest_s);
    (void)printf("parked   %" PRId64 "\ndead     %" PRId64 "\n", status->parked, status->dead);
    print_reasons(status);
    if (status->per_s >= 0)
        (void)printf("rate     %.0f/s\n", status->per_s);
    for (int i = 0; i < status->sink_count; i++)
        if (strcmp(status->sinks[i].state, "away") == 0)
            (void)printf("%s: away\n", status->sinks[i].name);
    (void)printf("relays   %" PRId64 " with %" PRId64 " lanes\n", status->relays, status->lanes);
}

static void print_json(const struct status *status)
{
    char *text = status_json(status);

    terminal_print_json(text_of(text));
    free(text);
}

static int look(struct admin *admin, const struct arguments *arguments,
                const struct status_query *query, struct status *status,
                const struct status *before, struct error *error)
{
    if (admin_status(admin, query, status, error) < 0)
        return -1;
    if (before != NULL)
        status_compare(status, before);
    if (arguments->json)
        print_json(status);
    else
        print_text(status);
    cli_flush();
    return 0;
}

/* --watch: PostgreSQL publishes its counts about once a second, so a look every two seconds. */
static int watch(struct admin *admin, const struct arguments *arguments,
                 const struct status_query *query, struct error *error)
{
    struct status looks[2] = {0};
    int result = look(admin, arguments, query, &looks[0], NULL, error);
    int i = 0;

    while (result == 0 && arguments->watch && !ferror(stdout)) {
        (void)sleep(WATCH_S);
        if (!arguments->json && isatty(STDOUT_FILENO))
            (void)printf("\033[H\033[2J");
        status_free(&looks[1 - i]);
        result = look(admin, arguments, query, &looks[1 - i], &looks[i], error);
        i = 1 - i;
    }
    status_free(&looks[0]);
    status_free(&looks[1]);
    return result;
}

enum exit_status cli_status(const struct arguments *arguments, struct config *config)
{
    const char *sinks[SINKS_MAX];
    const struct status_query query = {.routes = &config->relay.routes,
                                       .sinks = sinks,
                                       .sink_count = config->relay.sink_count,
                                       .wait_ms = ANSWERS_MS};
    struct error error;
    struct admin *admin;
    int result = -1;

    for (int i = 0; i < query.sink_count; i++)
        sinks[i] = config->relay.sinks[i].name;
    admin = admin_open(&config->relay.outbox, &error);
    if (admin != NULL)
        result = watch(admin, arguments, &query, &error);
    admin_close(admin);
    return result == 0 ? EXIT_DONE : cli_fail(&error);
}
