#include "trace/headers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 8192
#define TOKEN_BYTES "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* "%41" becomes "A", in place; another "%" stands for itself, as does "%00". */
static void decode(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; to++) {
        char digits[3] = "";

        (void)snprintf(digits, sizeof digits, "%s", from[0] == '%' ? from + 1 : "");
        if (strspn(digits, "0123456789abcdefABCDEF") == 2 && strcmp(digits, "00") != 0) {
            *to = (char)strtol(digits, NULL, 16);
            from += 3;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* Of one, "name=value", which it changes. */
static const char *read_one(char *item, char *line, size_t size)
{
    char *value = strchr(item, '=');

    if (value == NULL || value == item)
        return "must be \"name=value\", and more of them after commas";
    *value++ = '\0';
    decode(value);
    if (strspn(item, TOKEN_BYTES) != strlen(item))
        return "a name has a character that names of headers must not have";
    for (const char *at = value; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7F)
            return "a value has a control character";
    return snprintf(line, size, "%s: %s", item, value) < (int)size ? NULL : "a value is too long";
}

const char *trace_headers_read(const char *headers, void (*take)(const char *line, void *closure),
                               void *closure)
{
    const char *problem = NULL;
    char *copy = strdup(headers);
    char *rest = copy;
    char line[LINE_BYTES];

    while (rest != NULL && problem == NULL) {
        char *item = strsep(&rest, ",");

        item += strspn(item, " ");
        if (item[0] == '\0')
            continue;
        problem = read_one(item, line, sizeof line);
        if (problem == NULL && take != NULL)
            take(line, closure);
    }
    free(copy);
    return copy != NULL ? problem : "out of memory";
}
