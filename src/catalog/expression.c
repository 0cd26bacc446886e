#include "catalog/expression.h"

#include <stddef.h>
#include <string.h>

/* Names hold letters, digits, "_" and "$" only, so nothing of a name is skipped. */
static const char *skip_noise(const char *text)
{
    static const char *const noise[] = {" ",      "\"",       "::pg_catalog.text",
                                        "::text", "::bigint", "pg_catalog."};
    size_t i = 0;

    while (i < sizeof noise / sizeof *noise) {
        size_t len = strlen(noise[i]);

        if (strncmp(text, noise[i], len) != 0) {
            i++;
            continue;
        }
        text += len;
        i = 0;
    }
    return text;
}

bool expression_equal(const char *shown, const char *written)
{
    for (;;) {
        shown = skip_noise(shown);
        written = skip_noise(written);
        if (*shown != *written)
            return false;
        if (*shown == '\0')
            return true;
        shown++;
        written++;
    }
}
