#ifndef MYSQL_CLI_COMMANDS_H
#define MYSQL_CLI_COMMANDS_H

#include "cli/cli.h"

/* The commands that this program has in place of PostgreSQL's. */

cli_command command_init, command_dead, command_pause, command_resume;

#endif
