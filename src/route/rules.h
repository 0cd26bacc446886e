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

/* At most 64 headers and 16 KiB; names are RFC 7230 tokens other than id, type, created_at and
 * replayed_at, which the relay sets itself. */
const char *rules_kafka_headers(const struct header *headers, int count);

/* The same; in addition `key` is the relay's own, no name contains "Nats-", and values obey
 * rules_nats_header_value(). */
const char *rules_nats_headers(const struct header *headers, int count);

/* No CR, LF or NUL; no leading or trailing blank, which readers of NATS headers strip; no name of a
 * header that servers obey. NULL is allowed. */
const char *rules_nats_header_value(struct text value);

#endif
