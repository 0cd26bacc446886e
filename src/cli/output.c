/* Output functions that all commands share. */
#include "cli/cli.h"

#include "base/hint.h"
#include "base/log.h"
#include "cli/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum exit_status cli_status_of(const struct error *error)
{
    switch (error->origin) {
    case ERROR_CONFIG:
        return EXIT_USAGE;
    case ERROR_DATABASE:
        return EXIT_DATABASE;
    case ERROR_BROKER:
        return EXIT_BROKER;
    case ERROR_SELF:
        break;
    }
    return EXIT_RUNTIME;
}

enum exit_status cli_fail(const struct error *error)
{
    (void)fprintf(stderr, "%soutbox-relay:%s %s\n", terminal_colour(STDERR_FILENO, COLOUR_BAD),
                  terminal_colour(STDERR_FILENO, COLOUR_NONE), error->text);
    if (error->hint[0] != '\0')
        (void)fprintf(stderr, "  fix: %s\n", error->hint);
    return cli_status_of(error);
}

/* Where the Debian package has the pages; else they are named as they lie in the source. */
void cli_print_page(const char *indent, const char *said)
{
    static const char installed[] = "/usr/share/doc/outbox-relay/";
    const char *page = hint_find("page", text_of(said));

    if (page[0] != '\0')
        (void)printf("%ssee %s%s\n", indent, access(installed, X_OK) == 0 ? installed : "", page);
}

int cli_refuse(const char *command, const char *why, struct error *error)
{
    (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "%s: %s", command, why);
    return error_hint(error, "outbox-relay help %.*s", (int)strcspn(command, " "), command);
}

/* stdio remembers that a write failed, but not why. */
static int output_errno;

void cli_flush(void)
{
    if (fflush(stdout) != 0 && output_errno == 0)
        output_errno = errno;
}

/* An incomplete output, for example on a full disk, makes the command fail. */
enum exit_status cli_check_output(enum exit_status status)
{
    cli_flush();
    if (output_errno == 0 && !ferror(stdout))
        return status;
    (void)fprintf(stderr, "outbox-relay: stdout: %s\n",
                  output_errno != 0 ? strerror(output_errno) : "not all output could be written");
    return status == EXIT_DONE ? EXIT_RUNTIME : status;
}

void cli_print_problems(const struct config_problems *problems)
{
    for (int i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "%s\n", problems->lines[i]);
    for (int i = 0; i < problems->warning_count; i++)
        (void)fprintf(stderr, "warning: %s\n", problems->warnings[i]);
}

void cli_log_problems(const struct config_problems *problems)
{
    for (int i = 0; i < problems->count; i++)
        log_event(LOG_ERROR, LOG_FIELDS(.error = problems->lines[i]),
                  "the configuration is refused");
    for (int i = 0; i < problems->warning_count; i++)
        log_event(LOG_WARN, LOG_FIELDS(.error = problems->warnings[i]),
                  "the configuration has a problem");
}
