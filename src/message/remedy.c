#include "message/remedy.h"

#include "base/hint.h"
#include "message/batch.h"

#include <stdio.h>
#include <string.h>

#define ID_BYTES_MAX 64
#define TYPED "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._:-"

/* What the database itself says, after the reason, may be anything. */
static const char *find(const char *reason)
{
    const char *words = reason != NULL ? strstr(reason, BATCH_WORDS) : NULL;

    return hint_find("row", words != NULL ? (struct text){reason, (size_t)(words - reason)}
                                          : text_of(reason));
}

/* An id that a shell or `dead` would take for something else is left for a person to write. */
static bool can_be_typed(struct text id)
{
    for (size_t i = 0; i < id.len; i++)
        if (strchr(TYPED, id.data[i]) == NULL || id.data[i] == '\0')
            return false;
    return id.data != NULL && id.len > 0 && id.len <= ID_BYTES_MAX && id.data[0] != '-';
}

/* A part of a name as the configuration has it, with `suffix`, as SQL has to have it. */
static size_t put_part(char *out, size_t size, const char *part, size_t len, const char *suffix)
{
    bool is_quoted = len > 1 && part[0] == '"';
    bool is_plain = strspn(part, "abcdefghijklmnopqrstuvwxyz0123456789_") >= len;

    if (is_quoted)
        return (size_t)snprintf(out, size, "%.*s%s\"", (int)len - 1, part, suffix);
    return (size_t)snprintf(out, size, is_plain ? "%.*s%s" : "\"%.*s%s\"", (int)len, part, suffix);
}

static size_t put_table(char *out, size_t size, const char *table, const char *suffix)
{
    size_t dot = table[0] == '"' ? strcspn(table + 1, "\"") + 2 : strcspn(table, ".");
    size_t len = 0;

    if (dot < strlen(table) && table[dot] == '.') {
        len = put_part(out, size, table, dot, "");
        if (len + 1 < size)
            out[len++] = '.';
        table += dot + 1;
    }
    return len < size ? len + put_part(out + len, size - len, table, strlen(table), suffix) : len;
}

const char *remedy_write(char *out, size_t size, const char *reason,
                         const struct remedy_names *names)
{
    const char *at = find(reason);
    bool typed = can_be_typed(names->id);
    size_t len = 0;

    if (at[0] == '\0')
        return NULL;
    while (*at != '\0' && len + 1 < size) {
        if (strncmp(at, "{kept}", 6) == 0) {
            len += put_table(out + len, size - len, names->outbox, names->stays ? "" : "_parked");
            at += 6;
        } else if (strncmp(at, "{raw}", 5) == 0) {
            len += (size_t)snprintf(out + len, size - len, "%s",
                                    names->stays ? "" : ": its column raw");
            at += 5;
        } else if (strncmp(at, "{id}", 4) == 0) {
            len += (size_t)snprintf(out + len, size - len, "%.*s", typed ? (int)names->id.len : 2,
                                    typed ? names->id.data : "ID");
            at += 4;
        } else {
            out[len++] = *at++;
        }
    }
    out[len < size ? len : size - 1] = '\0';
    return out;
}
