#ifndef PG_TRANSPORT_H
#define PG_TRANSPORT_H

#include <stdbool.h>

/*
 * How libpq would reach the server by this connection string, its service file and the PG*
 * variables: libpq resolves them itself. It opens no connection, but where a service file names an
 * LDAP server ("ldap://...") libpq asks that server.
 */

enum transport_risk {
    TRANSPORT_SAFE,       /* this machine, or a server that proves who it is */
    TRANSPORT_UNVERIFIED, /* encrypted, and nothing tells the server from one in between */
    TRANSPORT_OPEN        /* not encrypted, or only where both ends like it so */
};

struct transport {
    enum transport_risk risk;
    bool has_password;      /* or may have, for one of several hosts */
    int hosts;              /* that are tried in turn */
    long connect_timeout_s; /* for each address; 0: nothing says so */
    char sslmode[16];
};

/* 0, or -1: libpq does not take the string, and the connection will say why. */
int transport_resolve(struct transport *transport, const char *url);

/* Whether one of the comma-separated hosts is neither this machine nor a socket. */
bool transport_is_remote(const char *hosts);

#endif
