/* The program for PostgreSQL: its commands. */
#include "cli/cli.h"

extern const char embedded_commands[]; /* commands.txt, with a NUL at its end */

static const struct own_command own[] = {
    {"run", cli_run, false},         {"init", cli_init, false},
    {"check", cli_check, false},     {"introspect", cli_introspect, false},
    {"explain", cli_explain, false}, {"status", cli_status, false},
    {"health", cli_health, false},   {"emit", cli_emit, false},
    {"purge", cli_purge, false},     {"audit", cli_audit, false},
    {"peek", cli_peek, false},       {"sql", cli_sql, false},
    {"config", cli_config, true},    {"version", cli_version, true},
    {"help", cli_help, true},        {NULL, NULL, false},
};

static const struct program program = {
    .about = "from a transactional outbox in PostgreSQL to Kafka or NATS JetStream",
    .commands = embedded_commands,
    .own = own,
    .other = cli_desk,
};

int main(int argc, char **argv)
{
    return (int)cli_main(&program, argc, argv);
}
