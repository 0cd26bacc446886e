#include "cli/cli.h"

#include <stdio.h>

/* This command loads the file itself, because with --defaults no file is needed. */
enum exit_status cli_config(const struct arguments *arguments, struct config *unused)
{
    struct config config;
    struct config_problems problems;
    int status;

    (void)unused;
    if (arguments->defaults) {
        (void)fputs(config_sample(), stdout);
        return EXIT_DONE;
    }
    status = config_load(&config, arguments->config, &problems);
    cli_print_problems(&problems);
    if (status == 0)
        config_print(&config, stdout);
    config_problems_free(&problems);
    config_free(&config);
    return status == 0 ? EXIT_DONE : EXIT_USAGE;
}
