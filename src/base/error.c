#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Messages of servers and libraries may span several lines; the relay's messages are one line. */
static void make_one_line(char *text)
{
    size_t len = strlen(text);

    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        text[--len] = '\0';
    for (char *at = text; *at != '\0'; at++)
        if (*at == '\n' || *at == '\r' || *at == '\t')
            *at = ' ';
}

int error_set(struct error *error, enum error_kind kind, enum error_origin origin,
              const char *format, ...)
{
    va_list args;

    error->kind = kind;
    error->origin = origin;
    error->cause = ERROR_ANY;
    error->hint[0] = '\0';
    error->needs_restart = false;
    error->is_unanswered = false;
    error->is_schema = false;
    error->position = 0;
    error->sqlstate[0] = '\0';
    error->words[0] = '\0';
    va_start(args, format);
    text_vformat(error->text, sizeof error->text, format, args);
    va_end(args);
    make_one_line(error->text);
    if (error->text[0] == '\0')
        (void)snprintf(error->text, sizeof error->text, "unknown error");
    return -1;
}

int error_hint(struct error *error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(error->hint, sizeof error->hint, format, args);
    va_end(args);
    return -1;
}

void error_quote(struct error *error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    text_vformat(error->words, sizeof error->words, format, args);
    va_end(args);
    make_one_line(error->words);
}

const char *error_bare_text(const struct error *error)
{
    static const char origin[] = "database: ";
    bool has_origin = strncmp(error->text, origin, sizeof origin - 1) == 0;

    return error->text + (has_origin ? sizeof origin - 1 : 0);
}

int error_mark_schema(struct error *error)
{
    error->is_schema = true;
    return -1;
}

int error_mark_unanswered(struct error *error)
{
    error->is_unanswered = true;
    return -1;
}

int error_no_memory(struct error *error)
{
    return error_set(error, ERROR_FATAL, ERROR_SELF, "out of memory");
}

bool error_is_sqlstate(const struct error *error, const char *prefix)
{
    return strncmp(error->sqlstate, prefix, strlen(prefix)) == 0;
}
