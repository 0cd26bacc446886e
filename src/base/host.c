#include "base/host.h"

#include <string.h>
#include <strings.h>

bool host_is_loopback(const char *host, size_t len)
{
    static const char *const names[] = {"localhost", "::1", "[::1]"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == len && strncasecmp(host, names[i], len) == 0)
            return true;
    return len >= 4 && strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") >= len;
}

bool host_of_address_is_loopback(const char *address)
{
    const char *end = address[0] == '[' ? strchr(address, ']') : NULL;

    return host_is_loopback(address,
                            end != NULL ? (size_t)(end - address) + 1 : strcspn(address, ":/?#"));
}
