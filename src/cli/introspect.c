#include "cli/cli.h"

#include "desk/run.h"

#include <stdlib.h>

extern const char embedded_guesses[]; /* config/guesses.txt */

/* Of the configuration only the database counts: the table is looked at as if nothing were said of
 * its columns. */
enum exit_status cli_introspect(const struct arguments *arguments, struct config *config)
{
    struct outbox_options options = config->relay.outbox;
    char *presets = config_preset_columns();
    struct error error;
    struct admin *admin;
    struct desk *desk = NULL;
    int status = -1;

    options.table = (char *)arguments->operands[0];
    options.preset_columns = NULL;
    for (int i = 0; i < COLUMN_COUNT; i++)
        options.columns[i] = NULL;
    options.header_count = 0;
    options.where = NULL;
    options.mark = NULL;
    options.park = NULL;
    options.on_sent = ON_SENT_MARK;
    options.order = ORDER_KEY;
    admin = admin_open(&options, &error);
    if (admin != NULL)
        desk = desk_new(admin, &error);
    if (desk != NULL && desk_set(desk, "name", options.table, &error) == 0 &&
        (presets != NULL || error_no_memory(&error) == 0) &&
        desk_set(desk, "presets", presets, &error) == 0 &&
        desk_set(desk, "guesses", embedded_guesses, &error) == 0)
        status = desk_run(desk, arguments->steps, &error);
    free(presets);
    desk_free(desk);
    admin_close(admin);
    return status == 0 ? EXIT_DONE : cli_fail(&error);
}
