/* Output functions that all commands share. */
#include "cli/cli.h"

#include "base/hint.h"
#include "base/log.h"
#include "cli/terminal.h"
#include "source/source.h"

#include <errno.h>
#include <stdarg.h>
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

void cli_say(const char *format, ...)
{
    va_list args;

    (void)fprintf(stderr, "%s: ", source_program);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
}

enum exit_status cli_fail(const struct error *error)
{
    (void)fprintf(stderr, "%s%s:%s %s\n", terminal_colour(STDERR_FILENO, COLOUR_BAD),
                  source_program, terminal_colour(STDERR_FILENO, COLOUR_NONE), error->text);
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
    return error_hint(error, "%s help %.*s", source_program, (int)strcspn(command, " "), command);
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
    cli_say("stdout: %s",
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
