/* The program for MariaDB and MySQL: its commands. */
#include "mysql/cli/commands.h"

extern const char embedded_commands[]; /* src/mysql/commands.awk makes them of commands.txt */

static const struct own_command own[] = {
    {"run", cli_run, false},
    {"init", command_init, false},
    {"check", cli_check, false},
    {"explain", cli_explain, false},
    {"status", cli_status, false},
    {"health", cli_health, false},
    {"emit", cli_emit, false},
    {"dead", command_dead, false},
    {"purge", cli_purge, false},
    {"pause", command_pause, false},
    {"resume", command_resume, false},
    {"peek", cli_peek, false},
    {"sql", cli_sql, false},
    {"config", cli_config, true},
    {"version", cli_version, true},
    {"help", cli_help, true},
    {NULL, NULL, false},
};

static const struct program program = {
    .about = "from a transactional outbox in MariaDB or MySQL to Kafka or NATS JetStream",
    .commands = embedded_commands,
    .own = own,
    .lacks = " audit introspect replay ",
};

int main(int argc, char **argv)
{
    return (int)cli_main(&program, argc, argv);
}
