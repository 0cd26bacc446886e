#include "mysql/url.h"

#include "base/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int fail(char *problem, const char *why)
{
    (void)snprintf(problem, URL_PROBLEM_BYTES, "%s", why);
    return -1;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. Returns -1 for an incomplete "%41", or "%00". */
static int decode(char *text)
{
    char *out = text;

    for (; *text != '\0'; text++) {
        if (*text != '%') {
            *out++ = *text;
            continue;
        }
        int high = digit(text[1]);
        int low = high >= 0 ? digit(text[2]) : -1;

        if (low < 0 || high + low == 0)
            return -1;
        *out++ = (char)(high * 16 + low);
        text += 2;
    }
    *out = '\0';
    return 0;
}

/* Ends the text at the first of these bytes, and returns what follows; NULL: there is none. */
static char *split(char *text, char at)
{
    char *found = strchr(text, at);

    if (found != NULL)
        *found++ = '\0';
    return found;
}

static int read_host(struct url *url, char *host, char *problem)
{
    char *port = host[0] == '[' ? split(host, ']') : split(host, ':');
    char *end = NULL;
    long number = URL_PORT;

    if (host[0] == '[') { /* an IPv6 address, and ":PORT" behind it */
        host++;
        if (port == NULL || (port[0] != '\0' && port[0] != ':'))
            return fail(problem, "has an IPv6 address without its closing bracket");
        port = port[0] == ':' ? port + 1 : NULL;
    }
    if (port != NULL)
        number = strtol(port, &end, 10);
    if (port != NULL &&
        (port[0] < '0' || port[0] > '9' || *end != '\0' || number < 1 || number > 65535))
        return fail(problem, "has a port that is no number from 1 to 65535");
    if (url->host_count == URL_HOSTS_MAX)
        return fail(problem, "has more than eight hosts");
    if (decode(host) < 0 || host[0] == '\0')
        return fail(problem, "has a host that is empty or wrongly encoded");
    url->hosts[url->host_count] = host;
    url->ports[url->host_count++] = (unsigned)number;
    url->is_remote = url->is_remote || !host_is_loopback(host, strlen(host));
    return 0;
}

static int read_option(struct url *url, char *option, bool *is_disabled, char *problem)
{
    const struct {
        const char *name;
        const char **value;
    } options[] = {{"socket", &url->socket},
                   {"ssl-ca", &url->ssl_ca},
                   {"ssl-cert", &url->ssl_cert},
                   {"ssl-key", &url->ssl_key}};
    char *value = split(option, '=');

    if (value == NULL || decode(value) < 0)
        return fail(problem, "has an option without a value, or a wrongly encoded one");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(option, options[i].name) == 0) {
            *options[i].value = value;
            return 0;
        }
    if (strcmp(option, "ssl-mode") != 0)
        return fail(problem,
                    "has an unknown option; there are socket, ssl-mode, ssl-ca, ssl-cert and"
                    " ssl-key");
    *is_disabled = strcasecmp(value, "DISABLED") == 0;
    url->is_encrypted = strcasecmp(value, "VERIFY_IDENTITY") == 0;
    return *is_disabled || url->is_encrypted
               ? 0
               : fail(problem, "has another ssl-mode than VERIFY_IDENTITY or DISABLED");
}

int url_parse(struct url *url, const char *text, char *problem)
{
    bool is_disabled = false;
    char *user, *hosts, *database, *options, *password;

    *url = (struct url){0};
    if (strncmp(text, "mysql://", strlen("mysql://")) != 0)
        return fail(problem, "does not begin with mysql://");
    url->memory = strdup(text + strlen("mysql://"));
    if (url->memory == NULL)
        return fail(problem, "cannot be read: out of memory");
    url->size = strlen(url->memory);
    user = url->memory;
    options = split(user, '?');
    database = split(user, '/');
    hosts = split(user, '@');
    if (hosts == NULL || database == NULL || strchr(hosts, '@') != NULL)
        return fail(problem,
                    "is not like mysql://USER:PASSWORD@HOST:PORT/DATABASE, where a reserved"
                    " character of a part is percent-encoded");
    password = split(user, ':');
    if (decode(user) < 0 || decode(database) < 0 || (password != NULL && decode(password) < 0))
        return fail(problem, "has a part that is wrongly percent-encoded");
    if (user[0] == '\0' || database[0] == '\0' || strchr(database, '/') != NULL)
        return fail(problem, "needs a user and a database");
    url->user = user;
    url->password = password;
    url->database = database;
    for (char *next; hosts != NULL; hosts = next) {
        next = split(hosts, ',');
        if (hosts[0] == '\0' && next == NULL && url->host_count == 0)
            break; /* a socket is to follow */
        if (read_host(url, hosts, problem) < 0)
            return -1;
    }
    for (char *next; options != NULL; options = next) {
        next = split(options, '&');
        if (read_option(url, options, &is_disabled, problem) < 0)
            return -1;
    }
    if ((url->host_count == 0) == (url->socket == NULL))
        return fail(problem, "needs either a host or a socket");
    if (url->host_count == 0)
        url->host_count = 1;
    url->is_encrypted = url->is_encrypted || (url->is_remote && !is_disabled);
    return 0;
}

void url_free(struct url *url)
{
    if (url->memory != NULL)
        explicit_bzero(url->memory, url->size);
    free(url->memory);
    *url = (struct url){0};
}
