#ifndef PG_TRANSPORT_H
#define PG_TRANSPORT_H

#include <stdbool.h>

/*
 * How libpq would reach the server, given a connection string, its service file and the PG*
 * environment variables; libpq itself resolves them. No connection is opened, except that libpq
 * queries an LDAP server when the service file names one ("ldap://...").
 */

enum transport_risk {
    TRANSPORT_SAFE,       /* a local connection, or a server whose identity is verified */
    TRANSPORT_UNVERIFIED, /* encrypted, but a man in the middle would not be noticed */
    TRANSPORT_UNENCRYPTED /* not encrypted, or encrypted only if the server offers it */
};

struct transport {
    enum transport_risk risk;
    bool has_password;      /* true also when it is unknown, for one of several hosts */
    int hosts;              /* number of hosts that libpq tries in turn */
    long connect_timeout_s; /* for each address; 0: not set */
    char sslmode[16];
};

/* Returns 0, or -1 when libpq rejects the string; connecting then reports the reason. */
int transport_resolve(struct transport *transport, const char *url);

/* Values of libpq's keywords host, hostaddr and port, each with the hosts of the connection string
 * in another order. NULL: as the string has it. */
struct transport_hosts {
    char *host;
    char *hostaddr;
    char *port;
};

/* Puts the host with this index first, and those before it last; an index beyond the last host
 * counts on from the first. Returns 0, or -1 when there is no memory. */
int transport_turn_hosts(struct transport_hosts *hosts, const char *url, int first);
void transport_free_hosts(struct transport_hosts *hosts);

/* Whether any of the comma-separated hosts is neither a loopback address nor a Unix socket. */
bool transport_is_remote(const char *hosts);

#endif
