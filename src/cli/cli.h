#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/text.h"
#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Only this folder deals with argv and exit statuses. */

enum exit_status {
    EXIT_DONE = 0,
    EXIT_RUNTIME = 1,
    EXIT_USAGE = 2,
    EXIT_DATABASE = 3,
    EXIT_BROKER = 4,
    EXIT_BY_HAND = 5 /* init: the printed SQL must be run by hand */
};

#define OPERANDS_MAX 16384 /* as many row ids as xargs may pass in one call */

#define OPTIONS_MAX 16 /* of a command */
#define COMMANDS_MAX 32

/* An option of a command, as commands.txt has it. */
struct cli_option {
    char name[24];
    const struct known *known;
    struct text unit;  /* of a number, as "rows"; "": none */
    const char *value; /* NULL: not given; "true" for one without a value */
};

/* The parsed command line. Strings point into argv. */
struct arguments {
    const char *config; /* -c; NULL: the default paths of config_load */
    bool drain;
    bool print;
    const char *grant;
    const char *feed;
    bool notify;
    bool order_trigger;
    int partitions; /* rows of each; 0: not given */
    bool inbox;
    bool json;
    bool watch;
    bool lanes;
    int64_t max_age_ms; /* of status; this and the next three: -1: not given */
    int max_backlog;
    int max_dead;
    int max_parked;
    const char *type;
    const char *since;     /* a duration, or a timestamp that begins with a date */
    int64_t older_than_ms; /* -1: not given */
    int rate;              /* rows a second; 0: not given */
    bool dry_run;
    bool defaults;
    const char *preset;
    bool list;
    int last;          /* rows; 0: not given */
    const char *where; /* NULL: not given */
    const char *from;  /* of audit; this and the next two: NULL: not given */
    const char *to;
    const char *sink;
    bool repair;
    bool yes;
    const char *operands[OPERANDS_MAX];
    int operand_count;
    struct cli_option given[OPTIONS_MAX]; /* all of the options */
    int given_count;
    const struct command *command;
    struct text verb;  /* "" where the command has none; it is not one of the operands */
    struct text words; /* of the rule, behind the verb */
    struct text steps;
};

/* Runs a command. */
typedef enum exit_status cli_command(const struct arguments *arguments, struct config *config);

/* A block of commands.txt. */
struct command {
    char name[16];
    struct text synopsis; /* the arguments, as --help shows them after the name */
    struct text summary;  /* one line */
    struct text rules;    /* what it takes, and its steps */
    struct text details;  /* lines on options and examples; "": none */
    bool needs_config;    /* loads the configuration before it runs; config is NULL otherwise */
    cli_command *run;
};

/* What a program is: its commands, and what `help` says of it. */
struct program {
    const char *about;    /* what it does, in a line */
    const char *commands; /* commands.txt, with a NUL at its end */
    struct own_command {  /* the commands of C code; ends with a name of NULL */
        const char *name;
        cli_command *run;
        bool needs_no_config;
    } const *own;
    /* The other commands; NULL: there is none. */
    cli_command *other;
    const char *lacks; /* commands that the program for PostgreSQL alone has, between blanks */
};

/* To be called before the next two. */
void cli_use(const struct program *program);
const struct command *cli_commands(void); /* ends with a name of "" */
const struct command *cli_find_command(const char *name);
/* Whether another program has this command. */
bool cli_lacks_command(const char *name);

enum exit_status cli_main(const struct program *program, int argc, char **argv);

/* Parses the arguments after the command's name. Options and operands may be mixed; "--" ends the
 * options. False: an error message has been printed. */
bool cli_parse(const struct command *command, int argc, char **argv, struct arguments *arguments);

/* Prints all commands, one per line. */
void cli_print_commands(FILE *out);

void cli_print_problems(const struct config_problems *problems);
/* For `run`, whose every line is one of the log. */
void cli_log_problems(const struct config_problems *problems);

/* Prints "PROGRAM: ..." and a line break to stderr. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The exit status for an error's origin. */
enum exit_status cli_status_of(const struct error *error);
/* Prints "PROGRAM: ..." and the hint on a line of its own to stderr. Returns the exit
 * status. */
enum exit_status cli_fail(const struct error *error);

/* A line that names the page of docs/ that explains this, by the lines `page` of config/hints.tsv;
 * nothing when none does. */
void cli_print_page(const char *indent, const char *said);

/* Refuses arguments that do not fit together: "COMMAND: WHY", with the help as the hint. -1. */
int cli_refuse(const char *command, const char *why, struct error *error);
/* Whether the operands and these options are UTF-8, as what goes to the database must be. */
bool cli_is_utf8(const struct arguments *arguments);

/* Creates the missing topics or streams of sinks with create = true. */
enum exit_status cli_make_destinations(const struct relay_options *relay);

/* Flushes stdout. cli_check_output reports a failure when the command has ended. */
void cli_flush(void);
/* Flushes stdout, and reports if anything could not be written. Returns `status`, or EXIT_RUNTIME
 * after such a failure of a command that had succeeded. */
enum exit_status cli_check_output(enum exit_status status);

cli_command cli_run, cli_init, cli_check, cli_introspect, cli_explain, cli_status, cli_health,
    cli_emit, cli_desk, cli_purge, cli_audit, cli_peek, cli_sql, cli_config, cli_version, cli_help;
/* Why nothing of this name can be paused; NULL: it can. `what` is SINK, PATTERN or KEY. */
const char *cli_pause_problem(struct text what, const char *name,
                              const struct relay_options *relay);

#endif
