#include "config/read/expand.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPANDED_BYTES_MAX (1024 * 1024)
#define NAME_BYTES_MAX 128
#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

struct expander {
    const char *at;
    char *out; /* owned until it is handed out */
    size_t len;
    bool literal; /* treat all variables as unset */
    char *why;
    size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct expander *expander,
                                                        const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(expander->why, expander->why_size, format, args);
    va_end(args);
    return -1;
}

static int append(struct expander *expander, const char *bytes, size_t len)
{
    char *grown;

    if (len > EXPANDED_BYTES_MAX - expander->len)
        return refuse(expander, "longer than 1 MiB");
    grown = realloc(expander->out, expander->len + len + 1);
    if (grown == NULL)
        return refuse(expander, "out of memory");
    memcpy(grown + expander->len, bytes, len);
    expander->out = grown;
    expander->len += len;
    expander->out[expander->len] = '\0';
    return 0;
}

static int append_value(struct expander *expander, const char *name, const char *fallback,
                        size_t fallback_len)
{
    const char *value = expander->literal ? NULL : getenv(name);

    if (fallback != NULL && (value == NULL || value[0] == '\0'))
        return append(expander, fallback, fallback_len);
    if (expander->literal)
        return 0;
    if (value == NULL)
        return refuse(expander, "the environment variable %s is not set", name);
    if (!text_is_utf8(value, strlen(value)))
        return refuse(expander, "the value of the environment variable %s is not UTF-8", name);
    return append(expander, value, strlen(value));
}

/* Expands the variable at `at`, which points to "${". */
static int expand_variable(struct expander *expander)
{
    const char *name = expander->at + 2;
    size_t len = strspn(name, NAME_BYTES);
    const char *end = strchr(name, '}');
    const char *fallback = NULL;
    char copy[NAME_BYTES_MAX];

    if (end == NULL)
        return refuse(expander, "\"${\" without \"}\"; write \"$${\" for a literal \"${\"");
    if (len == 0 || len >= sizeof copy || (name[0] >= '0' && name[0] <= '9'))
        return refuse(expander, "\"${\" without the name of a variable");
    if (strncmp(name + len, ":-", 2) == 0)
        fallback = name + len + 2;
    else if (name + len != end)
        return refuse(expander, "only ${VAR} and ${VAR:-default} are supported");
    if (fallback != NULL && memmem(fallback, (size_t)(end - fallback), "${", 2) != NULL)
        return refuse(expander, "a default cannot contain another variable");
    memcpy(copy, name, len);
    copy[len] = '\0';
    expander->at = end + 1;
    return append_value(expander, copy, fallback, fallback != NULL ? (size_t)(end - fallback) : 0);
}

static int expand_next(struct expander *expander)
{
    size_t len = strcspn(expander->at, "$");

    if (len > 0) {
        expander->at += len;
        return append(expander, expander->at - len, len);
    }
    if (strncmp(expander->at, "$${", 3) == 0) {
        expander->at += 3;
        return append(expander, "${", 2);
    }
    if (strncmp(expander->at, "${", 2) == 0)
        return expand_variable(expander);
    return append(expander, expander->at++, 1);
}

static char *expand_all(struct expander *expander)
{
    int result = append(expander, "", 0);

    while (result == 0 && *expander->at != '\0')
        result = expand_next(expander);
    if (result == 0)
        return expander->out;
    free(expander->out);
    return NULL;
}

char *expand(const char *source, char *why, size_t why_size)
{
    struct expander expander = {.at = source, .why = why, .why_size = why_size};

    return expand_all(&expander);
}

char *expand_literal(const char *source)
{
    char why[256];
    struct expander expander = {.at = source, .literal = true, .why = why, .why_size = sizeof why};

    return expand_all(&expander);
}

bool expand_has_variable(const char *source)
{
    for (const char *at = strstr(source, "${"); at != NULL; at = strstr(at + 2, "${"))
        if (at == source || at[-1] != '$')
            return true;
    return false;
}
