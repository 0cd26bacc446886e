#include "cli/cli.h"

#include "base/bounded_call.h"
#include "base/clock.h"
#include "base/log_limit.h"
#include "base/text.h"
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static enum exit_status run_with_config(const struct command *command,
                                        const struct arguments *arguments)
{
    struct config config;
    struct config_problems problems;
    enum exit_status status = EXIT_USAGE;
    int loaded = config_load(&config, arguments->config, &problems);

    log_configure(config.log_level, config.log_format);
    if (command->run == cli_run)
        cli_log_problems(&problems);
    else
        cli_print_problems(&problems);
    config_problems_free(&problems);
    if (loaded == 0) {
        status = command->run(arguments, &config);
        log_limit_flush(clock_now_ms());
    }
    config_free(&config);
    return status;
}

static enum exit_status complain_of_command(const char *name)
{
    struct text_nearest nearest = {.to = name, .name = "help", .distance = 3};

    if (cli_lacks_command(name)) {
        cli_say("%s is there for PostgreSQL alone: docs/mysql.md says what else is", name);
        return EXIT_USAGE;
    }
    for (const struct command *command = cli_commands(); command->name[0] != '\0'; command++)
        text_consider(&nearest, command->name);
    cli_say("unknown command \"%s\"; did you mean \"%s\"?", name, nearest.name);
    return EXIT_USAGE;
}

/* -c FILE before the command, as some programs take it. */
static enum exit_status complain_of_order(int argc, char **argv)
{
    const char *command = "COMMAND";

    for (int i = 2; i < argc && strcmp(command, "COMMAND") == 0; i++)
        if (cli_find_command(argv[i]) != NULL)
            command = argv[i];
    (void)fprintf(stderr, "%s: options follow the command: %s %s", source_program, source_program,
                  command);
    for (int i = 1; i < argc; i++)
        if (argv[i] != command)
            (void)fprintf(stderr, " %s", argv[i]);
    (void)fputc('\n', stderr);
    return EXIT_USAGE;
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Opens standard descriptors that are closed, because otherwise a connection would get the
 * descriptor and receive what is printed. They are opened in the wrong direction, so that reading
 * from stdin or writing to stdout fails. */
static bool hold_standard_descriptors(void)
{
    static const int flags[] = {
        [STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_WRONLY};

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", flags[fd]) != fd)
            return false;
    return true;
}

/* Memory contains secrets, so no core file is written and other programs of this user cannot read
 * it. Root's debugger can still attach. */
static void keep_memory_private(void)
{
    const struct rlimit no_core = {0, 0};

    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)setrlimit(RLIMIT_CORE, &no_core);
}

enum exit_status cli_main(const struct program *program, int argc, char **argv)
{
    const struct command *command;
    struct arguments arguments;
    enum exit_status status;

    cli_use(program);
    keep_memory_private();
    if (!hold_standard_descriptors()) {
        cli_say("/dev/null: %s", strerror(errno));
        return EXIT_RUNTIME;
    }
    if (argc < 2) {
        cli_print_commands(stderr);
        return EXIT_USAGE;
    }
    if (asks_for_help(argv[1]))
        return cli_help(&(struct arguments){0}, NULL);
    command = cli_find_command(strcmp(argv[1], "--version") == 0 ? "version" : argv[1]);
    if (command == NULL)
        return argv[1][0] == '-' ? complain_of_order(argc, argv) : complain_of_command(argv[1]);
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (asks_for_help(argv[i]))
            return cli_help(&(struct arguments){.operands = {command->name}, .operand_count = 1},
                            NULL);
    if (!cli_parse(command, argc - 1, argv + 1, &arguments))
        return EXIT_USAGE;
    status = cli_check_output(command->needs_config && !arguments.inbox
                                  ? run_with_config(command, &arguments)
                                  : command->run(&arguments, NULL));
    if (bounded_call_any_timed_out())
        _exit((int)status);
    return status;
}
