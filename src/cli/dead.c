#include "cli/cli.h"

#include "admin/admin.h"
#include "admin/parked/parked.h"
#include "cli/terminal.h"
#include "message/remedy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CELL_BYTES_MAX 1024
#define NAME_WIDTH 14

/* ---- how rows are shown; whatever comes from a row is escaped ---- */

/* With --json: the object, on a line of its own. */
static void print_json(void *closure, const struct parked_value *values, int count)
{
    (void)closure;
    (void)count;
    terminal_print_json(values[0].value);
}

static const char *value_named(const struct parked_value *values, int count, const char *name,
                               char *out, size_t size)
{
    for (int i = 0; i < count; i++)
        if (strcmp(values[i].name, name) == 0 && values[i].value.data != NULL)
            return terminal_text(out, size, values[i].value, false);
    return "-";
}

struct printing {
    const char *outbox; /* its name in the configuration */
    bool has_begun;
    char fix[REMEDY_BYTES];
};

/* NULL when there is none to name. */
static const char *fix_for(struct printing *printing, const struct parked_value *values, int count)
{
    char error[CELL_BYTES_MAX];
    char id[CELL_BYTES_MAX];
    struct text stays = values[0].value;
    const struct remedy_names names = {printing->outbox,
                                       text_of(value_named(values, count, "id", id, sizeof id)),
                                       stays.data != NULL && stays.data[0] == 't'};

    return remedy_write(printing->fix, sizeof printing->fix,
                        value_named(values, count, "error", error, sizeof error), &names);
}

static void put_cell(const char *text, int width, bool cut)
{
    char fitted[CELL_BYTES_MAX];

    if (cut)
        text = terminal_fit(fitted, sizeof fitted, text, width);
    width -= terminal_width(text);
    (void)printf("%s%*s  ", text, width > 0 ? width : 0, "");
}

/* A row that has columns of its own, and below it its error; an id is never cut, as the other
 * verbs want it. `dead show` and --json have the rest. */
static void print_on_terminal(struct printing *printing, const struct parked_value *values,
                              int count)
{
    bool heading = !printing->has_begun;
    enum { ID = 8, STATE = 29, ATTEMPTS = sizeof "attempts" - 1, GAPS = 8 };
    int columns = terminal_columns();
    int room = (columns > 80 ? columns : 80) - ID - STATE - ATTEMPTS - GAPS;
    const struct {
        const char *name;
        int width;
    } cells[] = {{"id", ID}, {"state", STATE}, {"topic", room - room / 3}, {"key", room / 3}};
    char text[CELL_BYTES_MAX];
    char fitted[CELL_BYTES_MAX];
    const char *fix = fix_for(printing, values, count);

    for (size_t i = 0; heading && i < sizeof cells / sizeof *cells; i++)
        put_cell(cells[i].name, cells[i].width, false);
    (void)printf("%s", heading ? "attempts\n" : "");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        put_cell(value_named(values, count, cells[i].name, text, sizeof text), cells[i].width,
                 i > 0);
    (void)printf("%s\n", value_named(values, count, "attempts", text, sizeof text));
    (void)printf("    %s\n",
                 terminal_fit(fitted, sizeof fitted,
                              value_named(values, count, "error", text, sizeof text), columns - 4));
    if (fix != NULL)
        (void)printf("    fix: %s\n", fix);
}

/* A line a row: tabs between the values but the first, `stays`; on a terminal columns under a
 * head. closure: a struct printing. */
static void print_line(void *closure, const struct parked_value *values, int count)
{
    struct printing *printing = closure;

    if (terminal_columns() > 0) {
        print_on_terminal(printing, values, count);
        printing->has_begun = true;
        return;
    }
    for (int i = 1; i < count; i++) {
        char safe[256];
        struct text value = values[i].value;

        if (value.data == NULL)
            value = text_of("-");
        (void)printf("%s%s", terminal_text(safe, sizeof safe, value, false),
                     i + 1 == count ? "\n" : "\t");
    }
}

static bool is_number(struct text text, size_t number)
{
    char decimal[32];
    int len = snprintf(decimal, sizeof decimal, "%zu", number);

    return text.len == (size_t)len && memcmp(text.data, decimal, text.len) == 0;
}

static void print_payload(struct text bytes, struct text payload)
{
    char safe[4 * PARKED_PAYLOAD_MAX + 1];
    struct text shown;

    if (bytes.data == NULL || payload.data == NULL) {
        (void)printf("%-*s(null)\n", NAME_WIDTH, "payload");
        return;
    }
    shown = text_cut(payload, PARKED_PAYLOAD_MAX);
    (void)printf("%-*s%.*s bytes", NAME_WIDTH, "payload", (int)bytes.len, bytes.data);
    if (!is_number(bytes, shown.len))
        (void)printf(", the first %zu of them (--json: all)", shown.len);
    (void)printf("\n%s\n", terminal_text(safe, sizeof safe, shown, true));
}

/* A value a line, the payload last. closure: as above. */
static void print_whole(void *closure, const struct parked_value *values, int count)
{
    char safe[PARKED_PAYLOAD_MAX + 1];
    struct printing *printing = closure;
    const char *fix = fix_for(printing, values, count);

    if (printing->has_begun)
        (void)putchar('\n');
    printing->has_begun = true;
    for (int i = 1; i + 2 < count; i++) {
        struct text value = values[i].value;

        if (value.data == NULL && strcmp(values[i].name, "raw") == 0)
            continue; /* only a row whose values cannot be computed has it */
        if (value.data == NULL)
            value = text_of("(null)");
        (void)printf("%-*s%s\n", NAME_WIDTH, values[i].name,
                     terminal_text(safe, sizeof safe, value, false));
        if (strcmp(values[i].name, "error") == 0 && fix != NULL)
            (void)printf("%-*s%s\n", NAME_WIDTH, "fix", fix);
    }
    print_payload(values[count - 2].value, values[count - 1].value);
}

/* ---- what is asked for ---- */

static int refuse(struct error *error, const char *verb, const char *why)
{
    char command[64];

    (void)snprintf(command, sizeof command, "dead %s", verb);
    return cli_refuse(command, why, error);
}

static bool has_filter(const struct arguments *arguments)
{
    return arguments->type != NULL || arguments->topic != NULL || arguments->since != NULL;
}

static int check_list(const struct arguments *arguments, struct error *error)
{
    if (arguments->operand_count > 1)
        return refuse(error, "list", "takes no ids; see one row with `dead show ID`");
    if (arguments->dry_run)
        return refuse(error, "list", "--dry-run is for retry and drop");
    return 0;
}

static int check_show(const struct arguments *arguments, struct error *error)
{
    if (arguments->operand_count != 2)
        return refuse(error, "show", "give one row id or event_id");
    if (arguments->all || arguments->dry_run || arguments->limit > 0 || has_filter(arguments))
        return refuse(error, "show", "takes an id and --json, nothing else");
    return 0;
}

/* retry and drop */
static int check_change(const struct arguments *arguments, struct error *error)
{
    const char *verb = arguments->operands[0];
    bool chosen = arguments->all || has_filter(arguments);

    if (arguments->limit > 0)
        return refuse(error, verb, "--limit is for list");
    if (arguments->operand_count > 1 && chosen)
        return refuse(error, verb, "give ids, or --all or a filter, not both");
    if (arguments->operand_count == 1 && !chosen)
        return refuse(error, verb, "give row ids or event_ids, a filter, or --all");
    return 0;
}

struct verb {
    const char *name;
    enum parked_verb verb;
    int (*check)(const struct arguments *arguments, struct error *error);
    const char *would; /* NULL: shows rows only */
};

static const struct verb verbs[] = {{"list", PARKED_LIST, check_list, NULL},
                                    {"show", PARKED_SHOW, check_show, NULL},
                                    {"retry", PARKED_RETRY, check_change, "would retry"},
                                    {"drop", PARKED_DROP, check_change, "would drop"},
                                    {NULL, PARKED_LIST, NULL, NULL}};

static int64_t ask(const struct parked_request *request, const struct outbox_options *options,
                   struct error *error)
{
    struct printing printing = {.outbox = options->table};
    struct parked_rows rows = {.closure = &printing};
    bool writes =
        (request->verb == PARKED_RETRY || request->verb == PARKED_DROP) && !request->dry_run;
    struct admin *admin = writes ? admin_open_to_write(options, error) : admin_open(options, error);
    int64_t count;

    if (request->json)
        rows.on_row = print_json;
    else if (request->verb == PARKED_SHOW)
        rows.on_row = print_whole;
    else if (!writes)
        rows.on_row = print_line;
    count = admin != NULL ? admin_parked(admin, request, &rows, error) : -1;
    admin_close(admin);
    return count;
}

static void report(const struct verb *verb, const struct arguments *arguments, int64_t count)
{
    if (arguments->json)
        return;
    if (verb->would != NULL && arguments->dry_run)
        (void)printf("%s %" PRId64 "\n", verb->would, count);
    else if (verb->verb == PARKED_RETRY)
        (void)printf("%" PRId64 " row%s will be tried again\n", count, count == 1 ? "" : "s");
    else if (verb->verb == PARKED_DROP)
        (void)printf("dropped %" PRId64 "\n", count);
    else if (count == 0 && isatty(STDOUT_FILENO) == 1)
        (void)fprintf(stderr, "no parked or dead row\n");
}

enum exit_status cli_dead(const struct arguments *arguments, struct config *config)
{
    struct parked_request request = {.dry_run = arguments->dry_run,
                                     .json = arguments->json,
                                     .ids = arguments->operands + 1,
                                     .id_count = arguments->operand_count - 1,
                                     .type = arguments->type,
                                     .topic = arguments->topic,
                                     .since = arguments->since,
                                     .limit = arguments->limit};
    const struct verb *verb = verbs;
    struct error error;
    int64_t count;

    while (verb->name != NULL && strcmp(verb->name, arguments->operands[0]) != 0)
        verb++;
    request.verb = verb->verb;
    if (verb->name == NULL) {
        (void)refuse(&error, arguments->operands[0], "no such command; list, show, retry or drop");
        return cli_fail(&error);
    }
    if (verb->check(arguments, &error) < 0 ||
        (!cli_is_utf8(arguments) && refuse(&error, verb->name, "an argument is not UTF-8") < 0))
        return cli_fail(&error);
    count = ask(&request, &config->relay.outbox, &error);
    if (count < 0)
        return cli_fail(&error);
    report(verb, arguments, count);
    return EXIT_DONE;
}
