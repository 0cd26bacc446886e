/* The commands of commands.txt: what the command line is checked by, and `help`, which prints them.
 */
#include "cli/cli.h"

#include "base/text.h"
#include "base/version.h"
#include "broker/broker.h"
#include "source/source.h"

#include <stdio.h>
#include <string.h>

static const struct program *program;

void cli_use(const struct program *used)
{
    program = used;
}

static struct command command_of(struct text block)
{
    struct command command = {.run = program->other, .needs_config = true};
    struct text head = text_take(&block, "\n: ");
    struct text name = text_take(&head, " ");

    (void)snprintf(command.name, sizeof command.name, "%.*s", (int)name.len, name.data);
    command.synopsis = head;
    command.summary = text_take(&block, "\n@");
    command.rules = text_take(&block, "\n\n");
    command.details = block;
    for (const struct own_command *own = program->own; own->name != NULL; own++)
        if (strcmp(own->name, command.name) == 0) {
            command.run = own->run;
            command.needs_config = !own->needs_no_config;
        }
    return command;
}

const struct command *cli_commands(void)
{
    static struct command commands[COMMANDS_MAX + 1];
    struct text rest = text_of(program->commands);

    (void)text_take(&rest, "\n\n# "); /* what stands above the first one */
    for (int i = 0; i < COMMANDS_MAX && rest.len > 0; i++)
        commands[i] = command_of(text_take(&rest, "\n\n# "));
    return commands;
}

const struct command *cli_find_command(const char *name)
{
    for (const struct command *command = cli_commands(); command->name[0] != '\0'; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

bool cli_lacks_command(const char *name)
{
    char word[24];

    (void)snprintf(word, sizeof word, " %.20s ", name);
    return program->lacks != NULL && strstr(program->lacks, word) != NULL;
}

void cli_print_commands(FILE *out)
{
    (void)fprintf(out, "%s: %s\n\nusage: %s COMMAND [-c relay.toml] ...\n\n", source_program,
                  program->about, source_program);
    for (const struct command *command = cli_commands(); command->name[0] != '\0'; command++)
        (void)fprintf(out, "  %-10s %.*s\n", command->name, (int)command->summary.len,
                      command->summary.data);
    (void)fprintf(
        out,
        "\n`%s help COMMAND` shows options and examples. Configuration: -c FILE, or\n"
        "$OUTBOX_RELAY_CONFIG, ./relay.toml, /etc/outbox-relay/relay.toml; `%s config"
        " --defaults`\nshows every key.\n"
        "Exit status: 0 done, 1 runtime failure, 2 usage or configuration, 3 database, schema or\n"
        "permission, 4 broker, 5 init printed SQL that you have to run.\n",
        source_program, source_program);
}

enum exit_status cli_help(const struct arguments *arguments, struct config *config)
{
    const char *name = arguments->operands[0];
    const struct command *command;

    (void)config;
    if (arguments->operand_count == 0) {
        cli_print_commands(stdout);
        return EXIT_DONE;
    }
    command = cli_find_command(name);
    if (command == NULL) {
        (void)fprintf(stderr, "%s: unknown command \"%s\"\n", source_program, name);
        return EXIT_USAGE;
    }
    (void)printf("usage: %s %s%s%s%.*s\n\n%.*s\n", source_program, name,
                 command->needs_config ? " [-c relay.toml]" : "",
                 command->synopsis.len > 0 ? " " : "", (int)command->synopsis.len,
                 command->synopsis.data, (int)command->summary.len, command->summary.data);
    if (command->details.len > 0)
        (void)printf("\n%.*s\n", (int)command->details.len, command->details.data);
    return EXIT_DONE;
}

enum exit_status cli_version(const struct arguments *arguments, struct config *config)
{
    (void)arguments;
    (void)config;
    (void)printf("%s %s (sinks: %s)\n", source_program, RELAY_VERSION, broker_types());
    return EXIT_DONE;
}
