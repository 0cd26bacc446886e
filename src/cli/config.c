#include "cli/cli.h"

#include "source/source.h"

#include <stdio.h>

static enum exit_status print_preset(const char *name)
{
    const char *text = config_preset(name);
    char known[400];

    if (text == NULL) {
        (void)fprintf(stderr, "%s config: there is no preset \"%s\"; known: %s\n", source_program,
                      name, config_preset_names(known, sizeof known));
        return EXIT_USAGE;
    }
    (void)fputs(text, stdout);
    return EXIT_DONE;
}

/* This command loads the file itself, because with --defaults no file is needed. */
enum exit_status cli_config(const struct arguments *arguments, struct config *unused)
{
    struct config config;
    struct config_problems problems;
    struct error error;
    int status;

    (void)unused;
    if (arguments->defaults && arguments->preset != NULL) {
        (void)cli_refuse("config", "give --defaults or --preset, not both", &error);
        return cli_fail(&error);
    }
    if (arguments->defaults) {
        (void)fputs(config_sample(), stdout);
        return EXIT_DONE;
    }
    if (arguments->preset != NULL)
        return print_preset(arguments->preset);
    status = config_load(&config, arguments->config, &problems);
    cli_print_problems(&problems);
    if (status == 0)
        config_print(&config, stdout);
    config_problems_free(&problems);
    config_free(&config);
    return status == 0 ? EXIT_DONE : EXIT_USAGE;
}
