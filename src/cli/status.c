/* status: one look, or with --watch one below the other until a signal comes. */
#include "cli/cli.h"

#include "cli/terminal.h"
#include "source/json.h"
#include "source/status.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WATCH_MS 2000
#define ANSWERS_MS 1000
#define LINE_BYTES 4096 /* of a finding's text, or its fix, escaped */
#define WRAPPED_LINES 3

struct look {
    const struct arguments *arguments;
    const struct outbox_options *options;
    struct status_query query;
    struct admin *admin; /* NULL: not connected */
    json_t *document;    /* of the last look; NULL: there was none */
};

static void close_admin(struct look *look)
{
    admin_close(look->admin);
    look->admin = NULL;
}

/* 0, or -1 with *error set. A look that fails leaves what the one before it has found. */
static int take(struct look *look, struct error *error)
{
    json_t *document = NULL;

    if (look->admin == NULL) {
        look->admin = admin_open(look->options, error);
        if (look->admin == NULL)
            return -1;
        if (admin_status_begin(look->admin, error) < 0) {
            close_admin(look);
            return -1;
        }
    }
    look->query.before = look->document;
    document = admin_status(look->admin, &look->query, error);
    if (document == NULL) {
        close_admin(look);
        return -1;
    }
    json_decref(look->document);
    look->document = document;
    return 0;
}

static void print_json(const struct look *look)
{
    char *text = status_dump(look->document);

    terminal_print_json(text_of(text));
    free(text);
}

/* `closure`: the columns of the terminal. What mends a finding is one line, so that it can be
 * copied. */
static void print_line(void *closure, const char *layout, const char *text)
{
    int columns = *(const int *)closure;
    char line[LINE_BYTES];

    (void)text_show(line, sizeof line, text_of(text), false);
    if (strcmp(layout, "wrapped") == 0) {
        terminal_put_wrapped(stdout, columns, "  ", WRAPPED_LINES, line);
        return;
    }
    if (columns > 0 && strcmp(layout, "cut") == 0)
        (void)terminal_fit(line, sizeof line, line, columns);
    (void)printf("%s\n", line);
}

static int print_text(struct look *look, struct error *error)
{
    int columns = terminal_columns();
    const struct status_lines lines = {print_line, &columns};

    (void)json_object_set_new(look->document, "_terminal", json_boolean(columns > 0));
    (void)json_object_set_new(look->document, "_lanes", json_boolean(look->arguments->lanes));
    return admin_status_text(look->admin, look->document, &lines, error);
}

static int print(struct look *look, struct error *error)
{
    int result = 0;

    if (look->arguments->json)
        print_json(look);
    else
        result = print_text(look, error);
    cli_flush();
    return result;
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

static json_t *pack_limit(int64_t limit)
{
    return limit >= 0 ? json_integer(limit) : json_null();
}

static void print_limit(void *closure, const char *layout, const char *text)
{
    enum exit_status *status = closure;

    (void)layout;
    cli_say("%s", text);
    *status = EXIT_RUNTIME;
}

/* A line on stderr for each limit that is exceeded. */
static enum exit_status judge(struct look *look)
{
    const struct arguments *arguments = look->arguments;
    enum exit_status status = EXIT_DONE;
    const struct status_lines lines = {print_limit, &status};
    struct error error;

    (void)json_object_set_new(
        look->document, "_limits",
        json_pack("{s:o, s:o, s:o, s:o}", "age", pack_limit(arguments->max_age_ms), "backlog",
                  pack_limit(arguments->max_backlog), "dead", pack_limit(arguments->max_dead),
                  "parked", pack_limit(arguments->max_parked)));
    if (admin_status_limits(look->admin, look->document, &lines, &error) < 0)
        return cli_fail(&error);
    if (arguments->json)
        print_json(look);
    return status;
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
    if (print(look, &error) < 0)
        (void)cli_fail(&error);
    while (!ferror(stdout)) {
        (void)poll(NULL, 0, WATCH_MS);
        if (take(look, &error) < 0) {
            (void)cli_fail(&error);
            continue;
        }
        if (!look->arguments->json)
            (void)putchar('\n');
        if (print(look, &error) < 0)
            (void)cli_fail(&error);
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

    if (has_limit(arguments) && (arguments->watch || arguments->lanes)) {
        (void)error_set(&error, ERROR_PERMANENT, ERROR_CONFIG,
                        arguments->watch ? "status --watch goes on for ever and has no limits"
                                         : "status with a limit prints what is above it, no lanes");
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
    else if (print(&look, &error) < 0)
        status = cli_fail(&error);
    json_decref(look.document);
    admin_close(look.admin);
    return status;
}
