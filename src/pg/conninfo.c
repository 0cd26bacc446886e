#include "source/conninfo.h"

#include "base/text.h"

#include <ctype.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MASK "***"
#define PORT_MAX 65535

/* libpq marks with "*" the options that a dialogue should mask, but not every secret one. */
static bool is_secret(const PQconninfoOption *option)
{
    return option->dispchar[0] == '*' || strstr(option->keyword, "secret") != NULL ||
           strncmp(option->keyword, "scram_", strlen("scram_")) == 0;
}

static int refuse(char *problem, const char *format, const char *word)
{
    (void)snprintf(problem, CONNINFO_PROBLEM_BYTES, format, word);
    return -1;
}

/* The name itself is not repeated: it may be a piece of a password. */
static int refuse_keyword(char *problem, const char *name)
{
    PQconninfoOption *known = PQconndefaults();
    const char *nearest = "host";

    if (strcmp(name, "ssl") == 0)
        nearest = "sslmode"; /* JDBC's word */
    else
        for (const PQconninfoOption *at = known; at != NULL && at->keyword != NULL; at++)
            if (text_distance(name, at->keyword) < text_distance(name, nearest))
                nearest = at->keyword;
    (void)refuse(problem, "a keyword that libpq does not know; the nearest that it does is \"%s\"",
                 nearest);
    PQconninfoFree(known);
    return -1;
}

/* `message` is libpq's. It names an unknown keyword; any other message may quote a password. */
static int refuse_string(char *problem, const char *message)
{
    bool unknown = message != NULL && (strstr(message, "invalid connection option \"") != NULL ||
                                       strstr(message, "invalid URI query parameter: \"") != NULL);
    const char *quote = unknown ? strchr(message, '"') : NULL;
    size_t len = quote != NULL ? strcspn(quote + 1, "\"") : 0;
    char name[64];

    if (len == 0)
        return refuse(problem, "not a connection string; use %s",
                      "\"postgresql://USER@HOST/DATABASE\" or \"host=HOST dbname=DATABASE\"");
    (void)snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name),
                   quote + 1);
    return refuse_keyword(problem, name);
}

/* Whether this piece of a URL's query ("name=value", not terminated) may contain an "@": the name
 * of an application or a user may, a host may not. */
static bool may_have_at(const char *piece, size_t len)
{
    size_t name_len = strcspn(piece, "=@&");
    PQconninfoOption *known = PQconndefaults();
    bool may = false;

    for (const PQconninfoOption *at = known; at != NULL && at->keyword != NULL; at++)
        if (name_len < len && piece[name_len] == '=' && strlen(at->keyword) == name_len &&
            strncmp(at->keyword, piece, name_len) == 0)
            may = strncmp(at->keyword, "host", strlen("host")) != 0;
    PQconninfoFree(known);
    return may;
}

/* libpq ends the user and password at the first "@" or "/". If another "@" follows that is not part
 * of a parameter's value, the password contains an unescaped one, and its second half would be
 * shown as part of the host name. */
static bool has_stray_at(const char *text)
{
    const char *scheme = strstr(text, "://");
    const char *query;

    if (strncmp(text, "postgres", strlen("postgres")) != 0 || scheme == NULL)
        return false;
    text = scheme + strlen("://");
    text += strcspn(text, "@/");
    if (*text == '\0')
        return false;
    text++;
    query = text + strcspn(text, "?");
    if (memchr(text, '@', (size_t)(query - text)) != NULL)
        return true;
    while (*query != '\0') {
        const char *piece = query + 1;
        size_t len = strcspn(piece, "&");

        if (memchr(piece, '@', len) != NULL && !may_have_at(piece, len))
            return true;
        query = piece + len;
    }
    return false;
}

/* As libpq reads it when it connects: spaces around the number are allowed, and an empty port means
 * the default. */
static bool is_port_list(const char *ports)
{
    for (;;) {
        size_t len = strcspn(ports, ",");
        char *end;
        long port = strtol(ports, &end, 10);

        while (end > ports && isspace((unsigned char)*end))
            end++;
        if (len > 0 && (end != ports + len || port < 1 || port > PORT_MAX))
            return false;
        if (ports[len] == '\0')
            return true;
        ports += len + 1;
    }
}

static bool is_sslmode(const char *mode)
{
    static const char *const modes[] = {"disable", "allow",     "prefer",
                                        "require", "verify-ca", "verify-full"};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(mode, modes[i]) == 0)
            return true;
    return false;
}

/* Checks what libpq would report only when it connects, at every attempt. */
static int check_values(const PQconninfoOption *options, char *problem)
{
    for (const PQconninfoOption *at = options; at->keyword != NULL; at++) {
        if (at->val == NULL)
            continue;
        if (strcmp(at->keyword, "port") == 0 && !is_port_list(at->val))
            return refuse(problem, "a port must be from 1 to %s", "65535");
        if (strcmp(at->keyword, "sslmode") == 0 && !is_sslmode(at->val))
            return refuse(problem, "sslmode must be %s",
                          "disable, allow, prefer, require, verify-ca or verify-full");
    }
    return 0;
}

/* The caller frees the result with PQconninfoFree(). NULL with the problem set. */
static PQconninfoOption *parse(const char *text, char *problem)
{
    PQconninfoOption *options;
    char *message = NULL;

    if (has_stray_at(text)) {
        (void)refuse(problem, "an \"@\" that separates nothing; %s",
                     "percent-encode /, ? and @ in the password (%2F, %3F, %40)");
        return NULL;
    }
    options = PQconninfoParse(text, &message);
    if (options == NULL) {
        (void)refuse_string(problem, message);
    } else if (check_values(options, problem) < 0) {
        PQconninfoFree(options);
        options = NULL;
    }
    PQfreemem(message);
    return options;
}

int conninfo_check(const char *text, char problem[CONNINFO_PROBLEM_BYTES])
{
    PQconninfoOption *options = parse(text, problem);

    PQconninfoFree(options);
    return options != NULL ? 0 : -1;
}

/* An empty value counts too: it may have replaced a secret that is earlier in the text. */
static bool mentions_secret(const PQconninfoOption *options)
{
    for (; options->keyword != NULL; options++)
        if (options->val != NULL && is_secret(options))
            return true;
    return false;
}

bool conninfo_has_secret(const char *text)
{
    char problem[CONNINFO_PROBLEM_BYTES];
    PQconninfoOption *options = parse(text, problem);
    bool has = false;

    for (const PQconninfoOption *at = options; at != NULL && at->keyword != NULL; at++)
        has = has || (at->val != NULL && at->val[0] != '\0' && is_secret(at));
    PQconninfoFree(options);
    return has;
}

static void put_value(FILE *out, const char *value)
{
    bool quoted = value[0] == '\0' || strpbrk(value, " \t\n\r\f\v'\\") != NULL;

    (void)fputs(quoted ? "'" : "", out);
    for (; *value != '\0'; value++) {
        if (*value == '\'' || *value == '\\')
            (void)fputc('\\', out);
        (void)fputc(*value, out);
    }
    (void)fputs(quoted ? "'" : "", out);
}

char *conninfo_hide_secrets(const char *text)
{
    char problem[CONNINFO_PROBLEM_BYTES];
    PQconninfoOption *options = parse(text, problem);
    char *shown = NULL;
    const char *space = "";
    size_t size;
    FILE *out;

    if (options == NULL)
        return strdup(MASK);
    if (!mentions_secret(options)) {
        PQconninfoFree(options);
        return strdup(text);
    }
    out = open_memstream(&shown, &size);
    for (const PQconninfoOption *at = options; out != NULL && at->keyword != NULL; at++) {
        if (at->val == NULL)
            continue;
        (void)fprintf(out, "%s%s=", space, at->keyword);
        put_value(out, is_secret(at) && at->val[0] != '\0' ? MASK : at->val);
        space = " ";
    }
    PQconninfoFree(options);
    if (out != NULL && fclose(out) != 0) {
        free(shown);
        shown = NULL;
    }
    return shown;
}
