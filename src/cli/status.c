/* status: one look, or with --watch one below the other until a signal comes. */
#include "cli/cli.h"

#include "admin/status/status.h"
#include "cli/status_text.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WATCH_MS 2000
#define ANSWERS_MS 1000

struct look {
    const struct arguments *arguments;
    const struct outbox_options *options;
    struct status_query query;
    struct admin *admin; /* NULL: not connected */
    struct status last;
    bool has_last;
};

static void print_json(const struct status *status)
{
    char *text = status_json(status);

    terminal_print_json(text_of(text));
    free(text);
}

static int take(struct look *look, struct error *error)
{
    struct status status = {0};
    bool is_new = look->admin == NULL;

    if (is_new)
        look->admin = admin_open(look->options, error);
    if (is_new && look->admin != NULL && admin_status_begin(look->admin, error) < 0) {
        admin_close(look->admin);
        look->admin = NULL;
    }
    if (look->admin == NULL || admin_status(look->admin, &look->query, &status, error) < 0) {
        status_free(&status);
        admin_close(look->admin);
        look->admin = NULL;
        return -1;
    }
    if (look->has_last && status.per_s < 0)
        status_compare(&status, &look->last);
    status_free(&look->last);
    look->last = status;
    look->has_last = true;
    return 0;
}

static void print(const struct look *look)
{
    const struct status_view view = {.columns = terminal_columns(),
                                     .lanes = look->arguments->lanes};

    if (look->arguments->json)
        print_json(&look->last);
    else
        status_print(&look->last, &view, stdout);
    cli_flush();
}

/* ---- limits ---- */

static bool has_limit(const struct arguments *arguments)
{
    return arguments->max_age_ms >= 0 || arguments->max_backlog >= 0 || arguments->max_dead >= 0 ||
           arguments->max_parked >= 0;
}

/* How far rows must be counted. */
static int count_max(const struct arguments *arguments)
{
    int max = STATUS_COUNT_MAX;

    if (arguments->max_backlog >= max)
        max = arguments->max_backlog + 1;
    if (arguments->max_dead >= max)
        max = arguments->max_dead + 1;
    return arguments->max_parked >= max ? arguments->max_parked + 1 : max;
}

/* A number of rows that could not be read is above any limit. */
static bool exceeds(const char *what, int64_t rows, bool is_bound, int limit)
{
    if (limit < 0 || (rows >= 0 && rows <= limit))
        return false;
    if (rows < 0)
        (void)fprintf(stderr, "outbox-relay: %s is unknown, the limit is %d\n", what, limit);
    else
        (void)fprintf(stderr, "outbox-relay: %s is %" PRId64 "%s, the limit is %d\n", what, rows,
                      is_bound ? " or more" : "", limit);
    return true;
}

/* Rows of unknown age, as in a table without created_at, are older than any limit. */
static bool exceeds_age(const struct status *status, int64_t limit_ms)
{
    bool is_unknown = status->backlog != 0 && status->backlog_oldest_s < 0;

    if (limit_ms < 0 || (!is_unknown && status->oldest_s * 1000 <= (double)limit_ms))
        return false;
    if (is_unknown)
        (void)fprintf(stderr, "outbox-relay: age is unknown, the limit is %.1f s\n",
                      (double)limit_ms / 1000);
    else
        (void)fprintf(stderr, "outbox-relay: age is %.1f s, the limit is %.1f s\n",
                      status->oldest_s, (double)limit_ms / 1000);
    return true;
}

static enum exit_status judge(const struct look *look)
{
    const struct arguments *arguments = look->arguments;
    const struct status *last = &look->last;
    int64_t parked = last->parked; /* but those that are meant to wait */
    bool above = exceeds_age(last, arguments->max_age_ms);

    above =
        exceeds("backlog", last->backlog, last->backlog_is_bound, arguments->max_backlog) || above;
    above = exceeds("dead", last->dead, last->dead_is_bound, arguments->max_dead) || above;
    above = exceeds("parked", parked > 0 ? parked - last->scheduled : parked, last->parked_is_bound,
                    arguments->max_parked) ||
            above;
    if (arguments->json)
        print_json(last);
    return above ? EXIT_RUNTIME : EXIT_DONE;
}

/* ---- --watch ---- */

/* A signal is how a watch ends, and no failure. */
static void end(int signal)
{
    (void)signal;
    _exit(EXIT_DONE);
}

static void watch(struct look *look)
{
    static const int endings[] = {SIGINT, SIGTERM, SIGHUP};
    struct error error;

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        (void)signal(endings[i], end);
    print(look);
    while (!ferror(stdout)) {
        (void)poll(NULL, 0, WATCH_MS);
        if (take(look, &error) < 0) {
            (void)cli_fail(&error);
            continue;
        }
        if (!look->arguments->json)
            (void)putchar('\n');
        print(look);
    }
}

enum exit_status cli_status(const struct arguments *arguments, struct config *config)
{
    const char *sinks[SINKS_MAX];
    struct look look = {.arguments = arguments,
                        .options = &config->relay.outbox,
                        .query = {.routes = &config->relay.routes,
                                  .sinks = sinks,
                                  .sink_count = config->relay.sink_count,
                                  .wait_ms = ANSWERS_MS,
                                  .count_max = count_max(arguments)}};
    enum exit_status status = EXIT_DONE;
    struct error error;

    if (has_limit(arguments) && arguments->watch) {
        (void)error_set(&error, ERROR_PERMANENT, ERROR_CONFIG,
                        "status --watch goes on for ever and has no limits");
        return cli_fail(&error);
    }
    for (int i = 0; i < look.query.sink_count; i++)
        sinks[i] = config->relay.sinks[i].name;
    if (take(&look, &error) < 0)
        status = cli_fail(&error);
    else if (has_limit(arguments))
        status = judge(&look);
    else if (arguments->watch)
        watch(&look);
    else
        print(&look);
    status_free(&look.last);
    admin_close(look.admin);
    return status;
}
