#include "pg/transport.h"

#include "base/host.h"
#include "source/conninfo.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_local(const char *host, size_t len)
{
    return len == 0 || host[0] == '/' || host[0] == '@' || host_is_loopback(host, len);
}

bool transport_is_remote(const char *hosts)
{
    for (const char *at = hosts;;) {
        size_t len = strcspn(at, ",");

        if (!is_local(at, len))
            return true;
        if (at[len] == '\0')
            return false;
        at += len + 1;
    }
}

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
    for (; options->keyword != NULL; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val != NULL ? options->val : "";
    return "";
}

/* libpq connects to hostaddr; a host without a hostaddr is looked up by its name. */
static bool is_remote_host(const PQconninfoOption *options)
{
    const char *addresses = value_of(options, "hostaddr");
    size_t len = strlen(addresses);
    bool each_given = len > 0 && addresses[0] != ',' && addresses[len - 1] != ',' &&
                      strstr(addresses, ",,") == NULL;

    return transport_is_remote(addresses) ||
           (!each_given && transport_is_remote(value_of(options, "host")));
}

static int count_hosts(const PQconninfoOption *options)
{
    const char *list = value_of(options, "hostaddr");
    int count = 1;

    for (list = list[0] != '\0' ? list : value_of(options, "host"); *list != '\0'; list++)
        count += *list == ',';
    return count;
}

/* When sslrootcert is set, sslmode=require verifies as verify-ca does (libpq manual, 34.19.1). */
static enum transport_risk risk_of(const PQconninfoOption *options)
{
    const char *sslmode = value_of(options, "sslmode");

    if (!is_remote_host(options) || strcmp(value_of(options, "gssencmode"), "require") == 0 ||
        strncmp(sslmode, "verify-", strlen("verify-")) == 0)
        return TRANSPORT_SAFE;
    if (strcmp(sslmode, "require") != 0)
        return TRANSPORT_UNENCRYPTED;
    return value_of(options, "sslrootcert")[0] != '\0' ? TRANSPORT_SAFE : TRANSPORT_UNVERIFIED;
}

/* libpq resolves all options before it opens a socket, and checks target_session_attrs last. An
 * invalid value there makes libpq stop after resolving and before connecting. */
static PGconn *resolve(const char *url)
{
    static const char *const keywords[] = {"dbname", "target_session_attrs", NULL};
    const char *const values[] = {url, "resolve only", NULL};

    return PQconnectStartParams(keywords, values, 1);
}

int transport_resolve(struct transport *transport, const char *url)
{
    PGconn *conn = resolve(url);
    PQconninfoOption *options = PQconninfo(conn);
    bool resolved = options != NULL && strstr(PQerrorMessage(conn), "target_session_attrs") != NULL;

    *transport = (struct transport){0};
    if (resolved) {
        (void)snprintf(transport->sslmode, sizeof transport->sslmode, "%s",
                       value_of(options, "sslmode"));
        transport->has_password = PQpass(conn) != NULL && PQpass(conn)[0] != '\0';
        transport->risk = risk_of(options);
        transport->hosts = count_hosts(options);
        transport->connect_timeout_s = strtol(value_of(options, "connect_timeout"), NULL, 10);
        if (transport->risk == TRANSPORT_UNENCRYPTED && transport->hosts > 1)
            transport->has_password = true; /* PQpass() knows only the first host's password */
    }
    PQconninfoFree(options);
    PQfinish(conn);
    return resolved ? 0 : -1;
}

/* A copy of the comma-separated list that begins with its entry `first`, or NULL with *failed set.
 * A list of one entry is the same for all hosts. */
static char *turn(const char *list, int first, bool *failed)
{
    const char *begin = list;
    char *turned;

    for (; first > 0 && begin != NULL; first--)
        if ((begin = strchr(begin, ',')) != NULL)
            begin++;
    if (begin == NULL)
        begin = list;
    if (asprintf(&turned, "%s%s%.*s", begin, begin > list ? "," : "",
                 begin > list ? (int)(begin - list - 1) : 0, list) >= 0)
        return turned;
    *failed = true;
    return NULL;
}

int transport_turn_hosts(struct transport_hosts *hosts, const char *url, int first)
{
    PGconn *conn = resolve(url);
    PQconninfoOption *options = PQconninfo(conn);
    bool failed = options == NULL;

    *hosts = (struct transport_hosts){0};
    if (!failed) {
        first %= count_hosts(options);
        hosts->host = turn(value_of(options, "host"), first, &failed);
        hosts->hostaddr = turn(value_of(options, "hostaddr"), first, &failed);
        hosts->port = turn(value_of(options, "port"), first, &failed);
    }
    PQconninfoFree(options);
    PQfinish(conn);
    if (failed)
        transport_free_hosts(hosts);
    return failed ? -1 : 0;
}

void transport_free_hosts(struct transport_hosts *hosts)
{
    free(hosts->host);
    free(hosts->hostaddr);
    free(hosts->port);
    *hosts = (struct transport_hosts){0};
}

/* 0, 1 or -1 as conninfo_check_transport(); *format: the problem, with a place for sslmode. */
static int judge(const struct transport *transport, bool has_password, bool allow_plaintext,
                 const char **format)
{
    bool disabled = strcmp(transport->sslmode, "disable") == 0;

    if (transport->risk == TRANSPORT_UNVERIFIED)
        *format = "sslmode=%s does not verify the server, so that an attacker on the network could"
                  " read and change everything; write sslmode=verify-full and sslrootcert=FILE";
    else if (allow_plaintext)
        *format = "sslmode=%s trusts the network (allow_plaintext = true)";
    else if (has_password)
        *format = "with sslmode=%s the password could be read on its way to another host; write"
                  " sslmode=verify-full, or allow_plaintext = true to say that this network is"
                  " trusted";
    else if (disabled)
        *format = "sslmode=%s trusts the network; if it is not trusted, write sslmode=verify-full";
    else
        *format = "with sslmode=%s an attacker on the network can turn encryption off; write"
                  " sslmode=verify-full, or sslmode=disable to say that this network is trusted";
    return transport->risk == TRANSPORT_UNVERIFIED || allow_plaintext || (disabled && !has_password)
               ? 1
               : -1;
}

/* Connecting reports why libpq rejects a string. */
int conninfo_check_transport(const char *text, bool has_password, bool allow_plaintext,
                             char problem[CONNINFO_PROBLEM_BYTES])
{
    struct transport transport;
    const char *format;
    int status;

    if (transport_resolve(&transport, text) < 0 || transport.risk == TRANSPORT_SAFE)
        return 0;
    status = judge(&transport, has_password || transport.has_password, allow_plaintext, &format);
    (void)snprintf(problem, CONNINFO_PROBLEM_BYTES, format, transport.sslmode);
    return status;
}
