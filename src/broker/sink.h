#ifndef BROKER_SINK_H
#define BROKER_SINK_H

#include "base/error.h"
#include "base/secret.h"
#include "route/match.h"
#include "route/rules.h"

/* The configuration of one sink, filled in by config/. */

#define SINK_LIST_MAX 32
#define DOMAIN_BYTES_MAX 64

struct text_list {
    char *items[SINK_LIST_MAX]; /* owned */
    int count;
};

struct property {
    char *name;  /* owned */
    char *value; /* owned */
    int line;    /* in the configuration file */
};

enum cloudevents { CLOUDEVENTS_OFF, CLOUDEVENTS_BINARY, CLOUDEVENTS_STRUCTURED };

struct sink_options {
    char *name; /* owned, like every string here */
    char *type; /* "kafka" | "nats" | "stdout" */
    struct text_list brokers;
    struct text_list servers;
    char *stream;
    char *domain;       /* of JetStream; NULL: the server's own */
    char *inbox_prefix; /* NULL: NATS_INBOX_PREFIX */
    struct text_list allow;
    struct match allowed[SINK_LIST_MAX]; /* allow.items, parsed */
    bool create;
    char *headers[OWN_HEADERS]; /* names of the relay's own; NULL: the default; "": none */
    bool null_headers;
    bool atomic_batches; /* of JetStream, for the events of a key */
    enum cloudevents cloudevents;
    const char *event_source; /* this and the next two: from [cloudevents] */
    const char *event_type;   /* of a row without one; NULL: none */
    const char *event_content_type;
    bool allow_plaintext; /* credentials may cross a network without TLS */
    struct property properties[SINK_LIST_MAX];
    int property_count;
    char *username;
    char *password;
    char *password_file;
    char *token;
    char *token_file;
    char *credentials_file;
    char *nkey;      /* the public key */
    char *nkey_file; /* the seed of nkey */
    char *tls_ca_file;
    char *tls_cert_file;
    char *tls_key_file;
    int64_t publish_timeout_ms; /* from [relay] */
    bool keep_order;            /* the order of each key; from [outbox] */
    int batch;                  /* messages per batch; from [relay] */
};

/* Whether the sink's allow list permits this destination. An absent list permits all. */
bool sink_allows(const struct sink_options *options, struct text destination);

/* The same as an error. `what`: "topic" or "subject"; `broken`: why it cannot be one at all; NULL:
 * it can. 0, or -1. */
int sink_check_destination(const struct sink_options *options, const char *what, const char *broken,
                           const char *destination, struct error *error);

/* headers.c */
/* The default name. */
const char *own_header_name(enum own_header which);
/* What the sink does with headers. `has_key`: the key is a header there. The names belong to the
 * options. */
struct header_rules sink_header_rules(const struct sink_options *options, bool has_key);
/* The relay's own headers of a message, in the order of enum own_header. A NULL value: not sent. */
void sink_own_headers(const struct header_rules *rules, const struct message *message,
                      struct header own[OWN_HEADERS]);

/* Whether an entry of the allow list is a pattern and not the name of one destination. */
bool sink_pattern(const char *allowed);

#endif
