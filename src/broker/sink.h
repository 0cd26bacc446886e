#ifndef BROKER_SINK_H
#define BROKER_SINK_H

#include "base/error.h"
#include "base/secret.h"
#include "route/match.h"

/* What the configuration says of one sink; config/ fills it. */

#define SINK_LIST_MAX 32

struct text_list {
    char *items[SINK_LIST_MAX]; /* owned */
    int count;
};

struct property {
    char *name;  /* owned */
    char *value; /* owned */
    int line;    /* in the configuration file */
};

struct sink_options {
    char *name; /* owned, as everything here */
    char *type; /* "kafka" | "nats" | "stdout" */
    struct text_list brokers;
    struct text_list servers;
    char *stream;
    char *inbox_prefix; /* NULL: NATS_INBOX_PREFIX */
    struct text_list allow;
    struct match allowed[SINK_LIST_MAX]; /* allow.items, parsed */
    bool create;
    bool allow_plaintext; /* credentials may cross a network without TLS */
    struct property properties[SINK_LIST_MAX];
    int property_count;
    char *username;
    char *password;
    char *password_file;
    char *token;
    char *token_file;
    char *credentials_file;
    char *nkey;      /* public */
    char *nkey_file; /* its seed */
    char *tls_ca_file;
    char *tls_cert_file;
    char *tls_key_file;
    int64_t publish_timeout_ms; /* set from [relay] */
    bool keep_order;            /* of each key, set from [outbox] */
    int batch;                  /* messages a batch, set from [relay] */
};

/* Whether the sink's allow list (absent: everything) takes this destination. */
bool sink_allows(const struct sink_options *options, struct text destination);

/* An entry of the allow list that names no destination in particular. */
bool sink_pattern(const char *allowed);

#endif
