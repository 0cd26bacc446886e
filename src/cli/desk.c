/* Commands that are statements and little else: commands.txt has their steps. */
#include "cli/cli.h"

#include "desk/run.h"

#include <stdio.h>
#include <string.h>

static int set_all(struct desk *desk, const struct arguments *arguments, bool by_id,
                   struct error *error)
{
    char verb[16];
    int status;

    (void)snprintf(verb, sizeof verb, "%.*s", (int)arguments->verb.len, arguments->verb.data);
    status = desk_set(desk, "verb", verb, error);
    for (int i = 0; i < arguments->given_count && status == 0; i++)
        status = desk_set_option(desk, arguments->given[i].name, arguments->given[i].value, error);
    if (arguments->operand_count == 0 || status < 0)
        return status;
    return by_id ? desk_set_array(desk, "ids", arguments->operands, arguments->operand_count, error)
                 : desk_set(desk, "name", arguments->operands[0], error);
}

enum exit_status cli_desk(const struct arguments *arguments, struct config *config)
{
    struct text words = arguments->words;
    struct text what = text_take(&words, " ");
    bool by_id = what.len >= 2 && memcmp(what.data, "ID", 2) == 0;
    const char *why = NULL;
    struct error error;
    struct admin *admin = NULL;
    struct desk *desk = NULL;
    int status = -1;

    if (!by_id && arguments->operand_count > 0)
        why = cli_pause_problem(what, arguments->operands[0], &config->relay);
    if (why == NULL && !cli_is_utf8(arguments))
        why = "an argument is not UTF-8";
    if (why != NULL)
        (void)cli_refuse(arguments->command->name, why, &error);
    else
        admin = admin_open(&config->relay.outbox, &error);
    if (admin != NULL)
        desk = desk_new(admin, &error);
    if (desk != NULL && set_all(desk, arguments, by_id, &error) == 0)
        status = desk_run(desk, arguments->steps, &error);
    desk_free(desk);
    admin_close(admin);
    return status == 0 ? EXIT_DONE : cli_fail(&error);
}
