#ifndef UNIT_PG_ENVIRONMENT_H
#define UNIT_PG_ENVIRONMENT_H

#include <stdlib.h>

/* What whoever starts the tests has told libpq by the environment is no part of them. */
static inline int forget_pg_environment(void **state)
{
    static const char *const inherited[] = {"PGSSLMODE",  "PGHOST",     "PGHOSTADDR",
                                            "PGPASSWORD", "PGPASSFILE", "PGSERVICE"};

    (void)state;
    for (size_t i = 0; i < sizeof inherited / sizeof *inherited; i++)
        (void)unsetenv(inherited[i]);
    return 0;
}

#endif
