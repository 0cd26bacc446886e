#include "cli/cli.h"
#include "outbox/admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int list(struct admin *admin, const struct arguments *arguments, struct error *error)
{
    return admin_print_parked(admin, stdout, arguments->json, error);
}

static int drop(struct admin *admin, const struct arguments *arguments, struct error *error)
{
    int64_t dropped = 0;

    if (arguments->all == (arguments->operand_count > 1))
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                         "dead drop: give row ids or event ids, or --all");
    if (arguments->all)
        dropped = admin_drop_parked(admin, NULL, error);
    for (int i = 1; i < arguments->operand_count && dropped >= 0; i++) {
        int64_t count = admin_drop_parked(admin, arguments->operands[i], error);

        if (count == 0)
            return error_set(error, ERROR_PERMANENT, ERROR_SELF,
                             "dead drop: no parked row has the id \"%s\"", arguments->operands[i]);
        dropped = count < 0 ? -1 : dropped + count;
    }
    if (dropped >= 0)
        (void)printf("dropped %" PRId64 "\n", dropped);
    return dropped < 0 ? -1 : 0;
}

enum exit_status cli_dead(const struct arguments *arguments, struct config *config)
{
    struct error error;
    int (*action)(struct admin *, const struct arguments *, struct error *) = NULL;
    struct admin *admin;
    int status;

    if (strcmp(arguments->operands[0], "list") == 0 && arguments->operand_count == 1)
        action = list;
    if (strcmp(arguments->operands[0], "drop") == 0)
        action = drop;
    if (action == NULL) {
        (void)fprintf(stderr, "usage: outbox-relay dead list [--json] | drop ID...|--all\n");
        return EXIT_USAGE;
    }
    admin = admin_open(&config->relay.outbox, &error);
    status = admin != NULL ? action(admin, arguments, &error) : -1;
    admin_close(admin);
    return status == 0 ? EXIT_DONE : cli_fail(&error);
}
