#include "cli/cli.h"

#include "base/version.h"
#include "broker/clients.h"

#include <stdio.h>
#include <string.h>

void cli_print_commands(FILE *out)
{
    (void)fprintf(
        out,
        "outbox-relay: from a transactional outbox in PostgreSQL to Kafka or NATS JetStream\n\n"
        "usage: outbox-relay COMMAND [-c relay.toml] ...\n\n");
    for (const struct command *command = commands; command->name != NULL; command++)
        (void)fprintf(out, "  %-8s %s\n", command->name, command->summary);
    (void)fprintf(
        out,
        "\n`outbox-relay help COMMAND` shows options and examples. Configuration: -c FILE, or\n"
        "$OUTBOX_RELAY_CONFIG, ./relay.toml, /etc/outbox-relay/relay.toml; `outbox-relay config"
        " --defaults`\nshows every key.\n"
        "Exit status: 0 done, 1 runtime failure, 2 usage or configuration, 3 database, schema or\n"
        "permission, 4 broker, 5 init printed SQL that you have to run.\n");
}

enum exit_status cli_help(const struct arguments *arguments, struct config *config)
{
    (void)config;
    if (arguments->operand_count == 0) {
        cli_print_commands(stdout);
        return EXIT_DONE;
    }
    for (const struct command *command = commands; command->name != NULL; command++) {
        if (strcmp(command->name, arguments->operands[0]) != 0)
            continue;
        (void)printf("usage: outbox-relay %s%s%s%s\n\n%s\n", command->name,
                     command->needs_config ? " [-c relay.toml]" : "",
                     command->synopsis[0] != '\0' ? " " : "", command->synopsis, command->summary);
        if (command->details[0] != '\0')
            (void)printf("\n%s", command->details);
        return EXIT_DONE;
    }
    (void)fprintf(stderr, "outbox-relay: unknown command \"%s\"\n", arguments->operands[0]);
    return EXIT_USAGE;
}

enum exit_status cli_version(const struct arguments *arguments, struct config *config)
{
    (void)arguments;
    (void)config;
    (void)printf("outbox-relay %s (sinks: %s)\n", RELAY_VERSION, broker_types());
    return EXIT_DONE;
}
