/* A planted regression for tests/bench/check_test: each PQgetvalue() costs some instructions more.
 */
#include <dlfcn.h>
#include <libpq-fe.h>

#define MORE 6 /* turns */

char *PQgetvalue(const PGresult *result, int row, int column)
{
    static char *(*real)(const PGresult *, int, int);

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "PQgetvalue");
    for (volatile int turn = 0; turn < MORE; turn++)
        continue;
    return real(result, row, column);
}
