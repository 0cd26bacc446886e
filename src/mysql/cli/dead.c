/* dead: parked and dead rows are listed, shown, tried again or deleted. */
#include "mysql/cli/commands.h"

#include "cli/terminal.h"
#include "message/remedy.h"
#include "mysql/parked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CELL_BYTES 1024
#define NAME_WIDTH 14

struct printing {
    const struct arguments *arguments;
    const char *result; /* "retried": of a row that was changed; NULL: it is only shown */
    const char *outbox;
    bool has_begun;
    int64_t count;
};

static bool is_shown(const char *name)
{
    return name[0] != '_';
}

/* Safe to print. */
static const char *cell(char out[CELL_BYTES], const json_t *value)
{
    if (json_is_string(value))
        return text_show(out, CELL_BYTES,
                         (struct text){json_string_value(value), json_string_length(value)}, false);
    if (json_is_integer(value))
        (void)snprintf(out, CELL_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        (void)snprintf(out, CELL_BYTES, "-");
    return out;
}

static void print_json(const struct printing *printing, const json_t *row)
{
    json_t *shown =
        printing->result != NULL ? json_pack("{s:s}", "result", printing->result) : json_object();

    (void)json_object_update(shown, (json_t *)row);
    command_print_json(shown);
    json_decref(shown);
}

/* The names, and then the values, with tabs between them. */
static void print_line(const json_t *row, bool names)
{
    const char *divider = "";
    const char *name;
    json_t *value;

    json_object_foreach ((json_t *)row, name, value) {
        char text[CELL_BYTES];

        if (!is_shown(name))
            continue;
        (void)printf("%s%s", divider, names ? name : cell(text, value));
        divider = "\t";
    }
    (void)putchar('\n');
}

static void print_remedy(const struct printing *printing, const json_t *row)
{
    const json_t *error = json_object_get(row, "error");
    const char *id = json_string_value(json_object_get(row, "id"));
    const struct remedy_names names = {printing->outbox, text_of(id != NULL ? id : "-"), false};
    char fix[REMEDY_BYTES];

    if (json_is_string(error) &&
        remedy_write(fix, sizeof fix, json_string_value(error), &names) != NULL)
        (void)printf("%*sfix: %s\n", 4, "", fix);
}

/* On a terminal what identifies the row stands in a line, and its error below. */
static void print_row(const struct printing *printing, const json_t *row)
{
    static const char *const names[] = {"id", "state", "topic", "key", "attempts"};
    char text[CELL_BYTES], fitted[CELL_BYTES];
    int columns = terminal_columns();
    char line[CELL_BYTES] = "";

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len = strlen(line);

        (void)snprintf(line + len, sizeof line - len, "%s%s%.400s", i == 0 ? "" : "  ",
                       strcmp(names[i], "attempts") == 0 ? "attempts " : "",
                       cell(text, json_object_get(row, names[i])));
    }
    (void)printf("%s\n", terminal_fit(fitted, sizeof fitted, line, columns));
    (void)printf("    %s\n", terminal_fit(fitted, sizeof fitted,
                                          cell(text, json_object_get(row, "error")), columns - 4));
    print_remedy(printing, row);
}

static void on_row(void *closure, const json_t *row)
{
    struct printing *printing = closure;

    printing->count++;
    if (printing->arguments->json) {
        print_json(printing, row);
    } else if (terminal_columns() > 0) {
        print_row(printing, row);
    } else {
        if (!printing->has_begun)
            print_line(row, true);
        print_line(row, false);
    }
    printing->has_begun = true;
}

static void on_changed(void *closure, const json_t *row)
{
    struct printing *printing = closure;

    if (printing->arguments->json || printing->arguments->dry_run)
        on_row(closure, row);
    else
        printing->count++;
}

/* A value a line, and the payload below. */
static void on_shown(void *closure, const json_t *row)
{
    struct printing *printing = closure;
    const json_t *payload = json_object_get(row, "payload");
    const char *name;
    json_t *value;

    if (printing->arguments->json) {
        print_json(printing, row);
        return;
    }
    json_object_foreach ((json_t *)row, name, value) {
        char text[4 * CELL_BYTES];

        if (!is_shown(name) || value == payload)
            continue;
        if (json_is_string(value))
            (void)text_show(text, sizeof text,
                            (struct text){json_string_value(value), json_string_length(value)},
                            false);
        (void)printf("%-*s %s\n", NAME_WIDTH, name,
                     json_is_string(value) ? text : cell(text, value));
    }
    print_remedy(printing, row);
    if (json_is_string(payload)) {
        char text[4 * 4096 + 1];

        (void)puts(text_show(text, sizeof text,
                             (struct text){json_string_value(payload), json_string_length(payload)},
                             true));
    }
}

/* commands.txt is that of both programs: a filter that this one does not read would choose all. */
static int refuse_unread(const struct arguments *arguments, struct error *error)
{
    static const char read[] = " config type topic since limit all dry-run json ";
    char name[sizeof arguments->given->name + 2];

    for (int i = 0; i < arguments->given_count; i++) {
        (void)snprintf(name, sizeof name, " %s ", arguments->given[i].name);
        if (arguments->given[i].value != NULL && strstr(read, name) == NULL)
            return cli_refuse("dead", "an option is there for PostgreSQL alone", error);
    }
    return 0;
}

static const char *result_of(bool drops, bool dry_run)
{
    if (dry_run)
        return drops ? "would drop" : "would retry";
    return drops ? "dropped" : "retried";
}

static void say_count(const struct printing *printing, bool drops)
{
    const struct arguments *arguments = printing->arguments;

    if (arguments->json)
        return;
    if (arguments->dry_run || drops)
        (void)printf("%s %" PRId64 "\n", result_of(drops, arguments->dry_run), printing->count);
    else
        (void)printf("%" PRId64 " row%s will be tried again\n", printing->count,
                     PLURAL(printing->count));
}

static int run(struct admin *admin, const struct parked_request *request, struct printing *printing,
               struct error *error)
{
    const struct arguments *arguments = printing->arguments;
    bool drops = text_equal(arguments->verb, text_of("drop"));
    struct parked_reader reader = {on_row, printing};
    int status;

    if (text_equal(arguments->verb, text_of("list"))) {
        status = parked_list(admin, request, &reader, error);
        if (status == 0 && printing->count == 0 && isatty(STDOUT_FILENO) == 1)
            (void)puts("no parked or dead row");
        return status;
    }
    if (text_equal(arguments->verb, text_of("show"))) {
        reader.on_row = on_shown;
        return parked_show(admin, request, &reader, error);
    }
    reader.on_row = on_changed;
    printing->result = result_of(drops, arguments->dry_run);
    status = parked_change(admin, drops ? PARKED_DROP : PARKED_RETRY, request, arguments->dry_run,
                           &reader, error);
    if (status == 0)
        say_count(printing, drops);
    return status;
}

enum exit_status command_dead(const struct arguments *arguments, struct config *config)
{
    const char *limit = command_given(arguments, "limit");
    const struct parked_request request = {.words = arguments->operands,
                                           .word_count = arguments->operand_count,
                                           .type = arguments->type,
                                           .topic = command_given(arguments, "topic"),
                                           .since = arguments->since,
                                           .limit = limit != NULL ? strtoll(limit, NULL, 10) : 0,
                                           .whole = arguments->json};
    struct printing printing = {.arguments = arguments, .outbox = config->relay.outbox.table};
    struct error error;
    struct admin *admin = NULL;
    int status = -1;

    if (!cli_is_utf8(arguments))
        (void)cli_refuse("dead", "an argument is not UTF-8", &error);
    else if (refuse_unread(arguments, &error) == 0)
        admin = admin_open(&config->relay.outbox, &error);
    if (admin != NULL)
        status = run(admin, &request, &printing, &error);
    admin_close(admin);
    return status == 0 ? EXIT_DONE : cli_fail(&error);
}
