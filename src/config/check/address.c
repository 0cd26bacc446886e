#include "config/check/check.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HOST_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define IPV6_BYTES "0123456789abcdefABCDEF:.%"
#define URL_PATH_BYTES HOST_BYTES "/~!$&'()*+,;=:%"
#define PORT_MAX 65535

/* The length of the host name or "[IPv6]" at the beginning; 0: neither. */
static size_t host_len(const char *address)
{
    size_t len;

    if (address[0] != '[')
        return strspn(address, HOST_BYTES);
    len = 1 + strspn(address + 1, IPV6_BYTES);
    return len > 1 && address[len] == ']' ? len + 1 : 0;
}

static bool is_port(const char *text)
{
    size_t len = strspn(text, "0123456789");
    long port = len > 0 && len <= 5 && text[len] == '\0' ? strtol(text, NULL, 10) : 0;

    return port >= 1 && port <= PORT_MAX;
}

const char *broker_address_problem(const char *address)
{
    size_t len = host_len(address);

    if (len == 0 || address[len] != ':' || !is_port(address + len + 1))
        return "must be \"HOST:PORT\", one broker per item";
    return NULL;
}

bool server_url_has_credentials(const char *url)
{
    return strchr(url, '@') != NULL;
}

const char *server_url_problem(const char *url)
{
    const char *host = strncmp(url, "nats://", 7) == 0  ? url + 7
                       : strncmp(url, "tls://", 6) == 0 ? url + 6
                                                        : NULL;
    size_t len;

    if (server_url_has_credentials(url))
        return "credentials do not belong in a URL, which ends up in logs; use username and "
               "password_file, token_file, nkey and nkey_file, or credentials_file";
    if (host == NULL)
        return "must be \"nats://HOST:PORT\" or \"tls://HOST:PORT\"";
    len = host_len(host);
    if (len > 0 && host[len] == '\0')
        return NULL;
    if (len == 0 || host[len] != ':' || !is_port(host + len + 1))
        return "must be \"nats://HOST:PORT\" or \"tls://HOST:PORT\", one server per item";
    return NULL;
}

const char *collector_url_problem(const char *url)
{
    const char *host = strncmp(url, "http://", 7) == 0    ? url + 7
                       : strncmp(url, "https://", 8) == 0 ? url + 8
                                                          : NULL;
    size_t len = host != NULL ? host_len(host) : 0;
    size_t digits = len > 0 && host[len] == ':' ? strspn(host + len + 1, "0123456789") : 0;
    char port[6] = "";

    if (strchr(url, '@') != NULL || strchr(url, '?') != NULL)
        return "secrets do not belong in a URL, which ends up in logs; use headers";
    if (digits > 0 && digits < sizeof port)
        memcpy(port, host + len + 1, digits);
    if (len > 0 && (host[len] != ':' || is_port(port)))
        host += len + (host[len] == ':' ? 1 + digits : 0);
    if (len == 0 || (host[0] != '\0' && host[0] != '/') ||
        strspn(host, URL_PATH_BYTES) != strlen(host))
        return "must be \"http://HOST:PORT\" or \"https://HOST:PORT\", with a path where the"
               " collector wants another than /v1/traces";
    return NULL;
}

const char *listen_address_problem(const char *address)
{
    if (address[0] == '\0' || (address[0] == ':' && is_port(address + 1)))
        return NULL;
    return broker_address_problem(address) == NULL ? NULL
                                                   : "must be \"HOST:PORT\", or \"\" for none";
}

bool listen_is_everywhere(const char *address)
{
    static const char *const everywhere[] = {":", "0.0.0.0:", "[::]:"};

    for (size_t i = 0; i < 3; i++)
        if (strncmp(address, everywhere[i], strlen(everywhere[i])) == 0)
            return true;
    return false;
}
