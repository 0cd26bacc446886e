#include "cli/dead.h"

#include "admin/admin.h"
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int refuse(struct error *error, const char *verb, const char *why)
{
    (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "dead %s: %s", verb, why);
    return error_hint(error, "outbox-relay help dead");
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

static int check_utf8(const struct arguments *arguments, struct error *error)
{
    const char *const texts[] = {arguments->type, arguments->topic, arguments->since};
    bool valid = true;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        valid = valid && (texts[i] == NULL || text_is_utf8(texts[i], strlen(texts[i])));
    for (int i = 1; i < arguments->operand_count; i++)
        valid = valid && text_is_utf8(arguments->operands[i], strlen(arguments->operands[i]));
    return valid ? 0 : refuse(error, arguments->operands[0], "an argument is not UTF-8");
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

static const struct verb *find_verb(const char *name)
{
    const struct verb *verb = verbs;

    while (verb->name != NULL && strcmp(verb->name, name) != 0)
        verb++;
    return verb;
}

static struct parked_rows choose_output(const struct parked_request *request, int *printed)
{
    struct parked_rows rows = {.closure = printed};

    if (request->json)
        rows.on_row = dead_print_json;
    else if (request->verb == PARKED_SHOW)
        rows.on_row = dead_print_whole;
    else if (request->verb == PARKED_LIST || request->dry_run)
        rows.on_row = dead_print_line;
    return rows;
}

static int64_t ask(const struct parked_request *request, const struct outbox_options *options,
                   struct error *error)
{
    int printed = 0;
    struct parked_rows rows = choose_output(request, &printed);
    bool writes =
        (request->verb == PARKED_RETRY || request->verb == PARKED_DROP) && !request->dry_run;
    struct admin *admin = writes ? admin_open_to_write(options, error) : admin_open(options, error);
    int64_t count = admin != NULL ? admin_parked(admin, request, &rows, error) : -1;

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
    const struct verb *verb = find_verb(arguments->operands[0]);
    const struct parked_request request = {.verb = verb->verb,
                                           .dry_run = arguments->dry_run,
                                           .json = arguments->json,
                                           .ids = arguments->operands + 1,
                                           .id_count = arguments->operand_count - 1,
                                           .type = arguments->type,
                                           .topic = arguments->topic,
                                           .since = arguments->since,
                                           .limit = arguments->limit};
    struct error error;
    int64_t count;

    if (verb->name == NULL) {
        (void)refuse(&error, arguments->operands[0], "no such command; list, show, retry or drop");
        return cli_fail(&error);
    }
    if (verb->check(arguments, &error) < 0 || check_utf8(arguments, &error) < 0)
        return cli_fail(&error);
    count = ask(&request, &config->relay.outbox, &error);
    if (count < 0)
        return cli_fail(&error);
    report(verb, arguments, count);
    return EXIT_DONE;
}
