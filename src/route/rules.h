#ifndef ROUTE_RULES_H
#define ROUTE_RULES_H

#include "message/message.h"

/*
 * Checks for names and headers that a broker would refuse or, worse, obey as a command. They run
 * before a client library sees the message. Each function returns NULL, or a constant text that
 * says which rule is broken.
 */

/* [A-Za-z0-9._-]{1,249}, not "." or "..", not internal ("__..."): Kafka's Topic.validate. */
const char *rules_kafka_topic(struct text topic);

/* Tokens of printable ASCII without wildcards, at most 255 bytes, outside $... and _INBOX. */
const char *rules_nats_subject(struct text subject);
/* The same for the prefix of the subjects on which acknowledgements arrive: at most
 * NATS_INBOX_PREFIX_BYTES_MAX bytes, and _INBOX is allowed. */
#define NATS_INBOX_PREFIX_BYTES_MAX 64
const char *rules_nats_inbox_prefix(struct text prefix);

/* The headers that the relay sets itself. */
enum own_header { OWN_ID, OWN_TYPE, OWN_CREATED_AT, OWN_KEY, OWN_REPLAYED_AT, OWN_HEADERS };

/* What a sink does with headers. */
struct header_rules {
    struct text own[OWN_HEADERS]; /* the names of the relay's own; data == NULL: it is not sent */
    bool sends_null;              /* a row's header that is NULL is sent too */
};

/* UTF-8 without control characters; not empty. */
const char *rules_kafka_header_name(struct text name);
/* A token of RFC 7230 that does not contain "Nats-". */
const char *rules_nats_header_name(struct text name);

/* Of a row's headers: at most 64 and 16 KiB, with names other than the relay's own. Those that are
 * not sent do not count. For NATS, values obey rules_nats_header_value() in addition. */
const char *rules_headers(const struct header_rules *rules, const struct header *headers, int count,
                          bool nats);

/* No CR, LF or NUL; no leading or trailing blank, which readers of NATS headers strip; no name of a
 * header that servers obey. NULL is allowed. */
const char *rules_nats_header_value(struct text value);

#endif
