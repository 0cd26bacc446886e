#include "cli/cli.h"

#include "admin/admin.h"

#include <stdio.h>
#include <stdlib.h>

/* Of the configuration only the database counts: the table is looked at as if nothing were said of
 * its columns. */
enum exit_status cli_introspect(const struct arguments *arguments, struct config *config)
{
    struct outbox_options options = config->relay.outbox;
    struct error error;
    struct admin *admin;
    char *text = NULL;

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
    if (admin != NULL) {
        text = admin_introspect(admin, options.table, config_preset_of, &error);
        admin_close(admin);
    }
    if (text == NULL)
        return cli_fail(&error);
    (void)fputs(text, stdout);
    free(text);
    return EXIT_DONE;
}
