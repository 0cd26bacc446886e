/* What differs between two configurations, as config_print shows them. A secret is masked there, so
 * another secret is no difference. */
#include "config/config.h"

#include <stdlib.h>
#include <string.h>

#define ROUTE "[[route]]"
#define CHANGE_BYTES 1024 /* what is longer is cut */

/* Puts each key behind its section: "[relay] batch = 500". Routes are numbered, because their order
 * counts. */
static void put_flat(FILE *out, char *printed)
{
    const char *section = "";
    char *rest;
    int route = 0;

    for (char *line = strtok_r(printed, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == '[') {
            section = line;
            route += strcmp(line, ROUTE) == 0;
        } else if (strcmp(section, ROUTE) == 0) {
            (void)fprintf(out, ROUTE " %d: %s\n", route, line);
        } else if (line[0] != '#') {
            (void)fprintf(out, "%s %s\n", section, line);
        }
    }
}

/* NULL: no memory. */
static char *print_flat(const struct config *config)
{
    char *printed = NULL;
    char *flat = NULL;
    size_t len;
    FILE *out = open_memstream(&printed, &len);

    if (out == NULL)
        return NULL;
    config_print(config, out);
    if (fclose(out) == 0 && (out = open_memstream(&flat, &len)) != NULL) {
        put_flat(out, printed);
        (void)fclose(out);
    }
    free(printed);
    return flat;
}

/* The value of the key whose name is the first `len` bytes of `line`; NULL: there is none. */
static const char *find(const char *flat, const char *line, size_t len)
{
    for (const char *at = flat; *at != '\0'; at += strcspn(at, "\n") + 1)
        if (strncmp(at, line, len) == 0)
            return at + len;
    return NULL;
}

/* Tells of the keys of `flat` that `other` lacks and, if `is_after`, of those with another value.
 */
static void compare(const char *flat, const char *other, bool is_after,
                    void (*on_change)(const char *text))
{
    for (const char *line = flat; *line != '\0'; line += strcspn(line, "\n") + 1) {
        int len = (int)strcspn(line, "\n");
        int name = (int)(strstr(line, " = ") - line);
        const char *value = line + name + 3;
        const char *was = find(other, line, (size_t)name + 3);
        char text[CHANGE_BYTES] = "";

        if (was == NULL && is_after)
            (void)snprintf(text, sizeof text, "%.*s, was not given", len, line);
        else if (was == NULL)
            (void)snprintf(text, sizeof text, "%.*s is not given, was %.*s", name, line,
                           len - name - 3, value);
        else if (is_after && strncmp(was, value, (size_t)(len - name) - 2) != 0)
            (void)snprintf(text, sizeof text, "%.*s, was %.*s", len, line, (int)strcspn(was, "\n"),
                           was);
        if (text[0] != '\0')
            on_change(text);
    }
}

void config_compare(const struct config *before, const struct config *after,
                    void (*on_change)(const char *text))
{
    char *was = print_flat(before);
    char *is = print_flat(after);

    if (was != NULL && is != NULL) {
        compare(is, was, true, on_change);
        compare(was, is, false, on_change);
    }
    free(was);
    free(is);
}
