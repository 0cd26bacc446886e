#ifndef MYSQL_CLI_COMMANDS_H
#define MYSQL_CLI_COMMANDS_H

#include "cli/cli.h"

#include <jansson.h>

/* The commands that this program has in place of PostgreSQL's. */

enum exit_status command_init(const struct arguments *arguments, struct config *config);
enum exit_status command_dead(const struct arguments *arguments, struct config *config);
enum exit_status command_pause(const struct arguments *arguments, struct config *config);
enum exit_status command_resume(const struct arguments *arguments, struct config *config);

/* The value of an option; NULL: it is not given. */
const char *command_given(const struct arguments *arguments, const char *name);
/* Prints an object as a line, without the names that begin with "_". */
void command_print_json(const json_t *object);

#endif
