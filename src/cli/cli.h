#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* argv, stdout and exit statuses live in this folder only. */

enum exit_status {
    EXIT_DONE = 0,
    EXIT_RUNTIME = 1,
    EXIT_USAGE = 2,
    EXIT_DATABASE = 3,
    EXIT_BROKER = 4,
    EXIT_BY_HAND = 5 /* init: SQL is left to be run */
};

#define OPERANDS_MAX 16384 /* as many row ids as one xargs hands over */

/* What the command line said. Pointers are into argv. */
struct arguments {
    const char *config; /* -c; NULL: look in the usual places */
    bool drain;
    bool print;
    const char *grant;
    bool notify;
    bool json;
    bool watch;
    bool lanes;
    const char *fail_if;
    int limit; /* 0: none */
    const char *type;
    const char *topic;
    const char *since;     /* a duration, or what begins with a date */
    int64_t older_than_ms; /* -1: not given */
    const char *reason;
    int64_t rate; /* rows a second; 0: not given */
    bool dry_run;
    bool defaults;
    bool all;
    const char *operands[OPERANDS_MAX];
    int operand_count;
};

struct command {
    const char *name;
    const char *synopsis; /* what follows the name */
    const char *summary;  /* one line */
    const char *details;  /* options and examples, lines of their own; "": none */
    const char *options;  /* the long options it takes, parted by blanks */
    int operands_min;
    int operands_max;
    bool needs_config; /* loads the configuration before it runs; config is NULL otherwise */
    enum exit_status (*run)(const struct arguments *arguments, struct config *config);
};

extern const struct command commands[]; /* ends with a NULL name */

enum exit_status cli_main(int argc, char **argv);

/* Fills *arguments from what follows the command's name, permuted options and operands; "--" ends
 * the options. false: the mistake has been printed. */
bool cli_parse(const struct command *command, int argc, char **argv, struct arguments *arguments);

/* All commands, a line each. */
void cli_print_commands(FILE *out);

/* The status that fits. */
enum exit_status cli_status_of(const struct error *error);
/* "outbox-relay: ..." to stderr, with the hint on a line of its own; the status that fits. */
enum exit_status cli_fail(const struct error *error);

/* What stands on stdout goes out now; why it could not is told when the command has ended. */
void cli_flush(void);
/* Flushes too; says so when not all of it could be written, which is then the exit status. */
enum exit_status cli_check_output(enum exit_status status);

enum exit_status cli_run(const struct arguments *arguments, struct config *config);
enum exit_status cli_init(const struct arguments *arguments, struct config *config);
enum exit_status cli_check(const struct arguments *arguments, struct config *config);
enum exit_status cli_status(const struct arguments *arguments, struct config *config);
enum exit_status cli_emit(const struct arguments *arguments, struct config *config);
enum exit_status cli_dead(const struct arguments *arguments, struct config *config);
enum exit_status cli_purge(const struct arguments *arguments, struct config *config);
enum exit_status cli_pause(const struct arguments *arguments, struct config *config);
enum exit_status cli_resume(const struct arguments *arguments, struct config *config);
enum exit_status cli_replay(const struct arguments *arguments, struct config *config);
enum exit_status cli_config(const struct arguments *arguments, struct config *config);
enum exit_status cli_version(const struct arguments *arguments, struct config *config);
enum exit_status cli_help(const struct arguments *arguments, struct config *config);

#endif
