#ifndef MYSQL_URL_H
#define MYSQL_URL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The url of [outbox]:
 *
 *     mysql://USER[:PASSWORD]@HOST[:PORT][,HOST[:PORT]...]/DATABASE[?NAME=VALUE[&NAME=VALUE...]]
 *
 * What contains a reserved character is percent-encoded. The names are socket (the path of a Unix
 * socket, in place of hosts), ssl-mode (VERIFY_IDENTITY or DISABLED), ssl-ca, ssl-cert and ssl-key.
 * A host that is not this machine is reached with TLS, and its certificate is verified, unless
 * ssl-mode says DISABLED.
 */

#define URL_HOSTS_MAX 8
#define URL_PROBLEM_BYTES 240 /* of `problem` */
#define URL_PORT 3306

struct url {
    char *memory; /* of all texts below */
    size_t size;
    const char *user;
    const char *password; /* NULL: none */
    const char *hosts[URL_HOSTS_MAX];
    unsigned ports[URL_HOSTS_MAX];
    int host_count;
    const char *database;
    const char *socket; /* NULL: none */
    const char *ssl_ca;
    const char *ssl_cert;
    const char *ssl_key;
    bool is_remote;    /* some host is another machine */
    bool is_encrypted; /* with TLS, and verified */
};

/* Returns 0; -1 with the problem, which quotes nothing of the text. Call url_free() in any case. */
int url_parse(struct url *url, const char *text, char *problem);
void url_free(struct url *url);

#endif
