#include "source/server.h"

#include <string.h>

bool server_is_same(const struct server *a, const struct server *b)
{
    return a->timeline == b->timeline && strcmp(a->system, b->system) == 0;
}
