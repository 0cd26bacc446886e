#include "source/conninfo.h"

#include "mysql/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MASK "***"

int conninfo_check(const char *text, char problem[CONNINFO_PROBLEM_BYTES])
{
    struct url url;
    int status = url_parse(&url, text, problem);

    url_free(&url);
    return status;
}

bool conninfo_has_secret(const char *text)
{
    char problem[URL_PROBLEM_BYTES];
    struct url url;
    bool has =
        url_parse(&url, text, problem) == 0 && url.password != NULL && url.password[0] != '\0';

    url_free(&url);
    return has;
}

/* What stands between the user's colon and the "@" of an url that can be read. */
char *conninfo_hide_secrets(const char *text)
{
    size_t scheme = strlen("mysql://");
    char problem[CONNINFO_PROBLEM_BYTES];
    const char *at, *colon;
    char *shown;

    if (conninfo_check(text, problem) < 0)
        return strdup(MASK);
    at = strchr(text + scheme, '@');
    colon = memchr(text + scheme, ':', (size_t)(at - text) - scheme);
    if (colon == NULL)
        return strdup(text);
    return asprintf(&shown, "%.*s" MASK "%s", (int)(colon + 1 - text), text, at) < 0 ? NULL : shown;
}

int conninfo_check_transport(const char *text, bool has_password, bool allow_plaintext,
                             char problem[CONNINFO_PROBLEM_BYTES])
{
    struct url url;
    int status = url_parse(&url, text, problem);
    bool is_open = status == 0 && url.is_remote && !url.is_encrypted;

    has_password = has_password || url.password != NULL;
    url_free(&url);
    if (!is_open)
        return 0; /* what is wrong with it is said elsewhere */
    (void)snprintf(
        problem, CONNINFO_PROBLEM_BYTES,
        has_password && !allow_plaintext
            ? "would send a password over a network without TLS; leave ssl-mode=DISABLED"
              " out, or set allow_plaintext = true"
            : "connects without TLS: whoever is on the network can read and change events");
    return has_password && !allow_plaintext ? -1 : 1;
}
