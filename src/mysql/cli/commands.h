#ifndef MYSQL_CLI_COMMANDS_H
#define MYSQL_CLI_COMMANDS_H

#include "cli/cli.h"

#include <jansson.h>

/* The commands that this program has in place of PostgreSQL's. */

cli_command command_init, command_dead, command_pause, command_resume;

/* The value of an option; NULL: it is not given. */
const char *command_given(const struct arguments *arguments, const char *name);
/* Prints an object as a line, without the names that begin with "_". */
void command_print_json(const json_t *object);

#endif
