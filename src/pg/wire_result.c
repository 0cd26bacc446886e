/* What of wire.h takes libpq to read a result. */
#include "pg/wire.h"

#include <string.h>

int wire_check_columns(const PGresult *result, const char *const *names, int count,
                       struct error *error)
{
    for (int i = 0; i < count; i++) {
        const char *name = i < PQnfields(result) ? PQfname(result, i) : "missing";

        if (strcmp(name, names[i]) != 0)
            return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                             "column %d of a statement's result is %s instead of %s", i + 1, name,
                             names[i]);
    }
    return 0;
}

/* POSIX lets free() release what PQfreemem() does. */
char *wire_bytea(const char *text, size_t *len)
{
    return (char *)PQunescapeBytea((const unsigned char *)text, len);
}
