#include "cli/cli.h"

#include "broker/clients.h"

#include <stdio.h>
#include <string.h>

#ifndef RELAY_VERSION
#define RELAY_VERSION "0.0.0"
#endif

static void print_all(void)
{
    (void)printf(
        "outbox-relay: from a transactional outbox in PostgreSQL to Kafka or NATS JetStream\n\n"
        "usage: outbox-relay COMMAND [-c relay.toml] ...\n\n");
    for (const struct command *command = commands; command->name != NULL; command++)
        (void)printf("  %-8s %-40s %.*s\n", command->name, command->synopsis,
                     (int)strcspn(command->help, "\n"), command->help);
    (void)printf(
        "\nConfiguration: -c FILE, or $OUTBOX_RELAY_CONFIG, ./relay.toml,"
        " /etc/outbox-relay/relay.toml; `outbox-relay config --defaults` shows every key.\n"
        "Exit status: 0 done, 1 runtime failure, 2 usage or configuration, 3 database, schema or"
        " permission, 4 broker.\n");
}

enum exit_status cli_help(const struct arguments *arguments, struct config *config)
{
    (void)config;
    if (arguments->operand_count == 0) {
        print_all();
        return EXIT_DONE;
    }
    for (const struct command *command = commands; command->name != NULL; command++) {
        if (strcmp(command->name, arguments->operands[0]) != 0)
            continue;
        (void)printf("usage: outbox-relay %s %s\n\n%s\n", command->name, command->synopsis,
                     command->help);
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
