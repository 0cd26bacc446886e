#include "cli/cli.h"

#include "admin/admin.h"
#include "base/clock.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WATCH_S 2

/* The rate between two looks; -1 before the second. */
static double rate(const struct status *now, const struct status *before, int64_t elapsed_ms)
{
    if (before == NULL || elapsed_ms <= 0)
        return -1;
    return (double)(now->settled_total - before->settled_total) * 1000.0 / (double)elapsed_ms;
}

static void print_reasons(const struct status *status)
{
    char text[256];

    for (int i = 0; i < status->reason_count; i++) {
        const struct reason *reason = &status->reasons[i];

        (void)printf("  %" PRId64 "  %s\n", reason->count,
                     terminal_text(text, sizeof text, text_of(reason->text), false));
    }
}

static void print_text(const struct status *status, double per_s, const struct findings *relays)
{
    (void)printf("backlog  %" PRId64 "%s\n", status->backlog,
                 status->backlog_is_bound ? " or more" : "");
    if (status->oldest_s >= 0)
        (void)printf("oldest   %.1f s\n", status->oldest_s);
    (void)printf("parked   %" PRId64 "\ndead     %" PRId64 "\n", status->waiting, status->dead);
    print_reasons(status);
    if (per_s >= 0)
        (void)printf("rate     %.0f/s\n", per_s);
    (void)printf("relays   %" PRId64 " with %" PRId64 " lanes\n", status->relays, status->lanes);
    for (int i = 0; i < relays->count; i++)
        (void)printf("  %s\n", relays->items[i].text);
    cli_flush();
}

static json_t *pack_reasons(const struct status *status)
{
    json_t *reasons = json_array();

    for (int i = 0; i < status->reason_count; i++)
        (void)json_array_append_new(reasons,
                                    json_pack("{s:I, s:s}", "count", status->reasons[i].count,
                                              "reason", status->reasons[i].text));
    return reasons;
}

static void print_json(const struct status *status, double per_s, const struct findings *relays)
{
    json_t *names = json_array();
    json_t *known_rate = per_s >= 0 ? json_real(per_s) : json_null();
    json_t *oldest = status->oldest_s >= 0 ? json_real(status->oldest_s) : json_null();
    json_t *object =
        json_pack("{s:I, s:b, s:o, s:I, s:I, s:o, s:o, s:I, s:I, s:O}", "backlog", status->backlog,
                  "backlog_is_lower_bound", status->backlog_is_bound, "oldest_seconds", oldest,
                  "parked", status->waiting, "dead", status->dead, "parked_reasons",
                  pack_reasons(status), "rate_per_second", known_rate, "relays", status->relays,
                  "lanes", status->lanes, "sessions", names);
    char *text;

    for (int i = 0; i < relays->count; i++)
        (void)json_array_append_new(names, relays->items[i].level == FINDING_OK
                                               ? json_string(relays->items[i].text)
                                               : json_null());
    text = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    terminal_print_json(text_of(text));
    cli_flush();
    free(text);
    json_decref(names);
    json_decref(object);
}

static int look(struct admin *admin, const struct arguments *arguments, struct status *status,
                const struct status *before, int64_t elapsed_ms, struct error *error)
{
    struct findings relays;
    int result;

    if (findings_init(&relays) < 0)
        return error_no_memory(error);
    result = admin_status(admin, status, error) < 0 || admin_list_relays(admin, &relays, error) < 0
                 ? -1
                 : 0;
    if (result == 0 && arguments->json)
        print_json(status, rate(status, before, elapsed_ms), &relays);
    else if (result == 0)
        print_text(status, rate(status, before, elapsed_ms), &relays);
    findings_free(&relays);
    return result;
}

/* --watch: PostgreSQL publishes its counts about once a second, so a look every two seconds. */
static int watch(struct admin *admin, const struct arguments *arguments, struct error *error)
{
    struct status looks[2];
    int64_t last_ms = clock_now_ms();
    int i = 0;

    if (look(admin, arguments, &looks[0], NULL, 0, error) < 0)
        return -1;
    while (arguments->watch && !ferror(stdout)) {
        int64_t now_ms;

        (void)sleep(WATCH_S);
        now_ms = clock_now_ms();
        if (!arguments->json && isatty(STDOUT_FILENO))
            (void)printf("\033[H\033[2J");
        if (look(admin, arguments, &looks[1 - i], &looks[i], now_ms - last_ms, error) < 0)
            return -1;
        last_ms = now_ms;
        i = 1 - i;
    }
    return 0;
}

enum exit_status cli_status(const struct arguments *arguments, struct config *config)
{
    struct error error;
    struct admin *admin = admin_open(&config->relay.outbox, &error);
    int result = admin != NULL ? watch(admin, arguments, &error) : -1;

    admin_close(admin);
    return result == 0 ? EXIT_DONE : cli_fail(&error);
}
