#ifndef MYSQL_CLI_COMMANDS_H
#define MYSQL_CLI_COMMANDS_H

#include "cli/cli.h"

/* The commands that this program has in place of PostgreSQL's. */

enum exit_status command_init(const struct arguments *arguments, struct config *config);
enum exit_status command_dead(const struct arguments *arguments, struct config *config);
enum exit_status command_pause(const struct arguments *arguments, struct config *config);
enum exit_status command_resume(const struct arguments *arguments, struct config *config);
#endif
