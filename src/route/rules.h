#ifndef ROUTE_RULES_H
#define ROUTE_RULES_H

#include "message/message.h"

/*
 * What a broker would refuse, or worse, obey: checked byte by byte before a client library sees it.
 * Each function returns NULL, or a constant text that says which rule is broken.
 */

/* [A-Za-z0-9._-]{1,249}, not "." or "..", not internal ("__..."): Kafka's Topic.validate. */
const char *rules_kafka_topic(struct text topic);

/* Tokens of printable ASCII without wildcards, at most 255 bytes, outside $... and _INBOX. */
const char *rules_nats_subject(struct text subject);
/* The same for the beginning of the subjects on which acknowledgements come back: at most
 * NATS_INBOX_PREFIX_BYTES_MAX, and _INBOX is allowed. */
#define NATS_INBOX_PREFIX_BYTES_MAX 64
const char *rules_nats_inbox_prefix(struct text prefix);

/* At most 64 headers and 16 KiB; names are RFC 7230 tokens, and none is the relay's own: id, type,
 * created_at. */
const char *rules_kafka_headers(const struct header *headers, int count);

/* The same, plus: `key` is the relay's own; no name holds "Nats-"; values as below. */
const char *rules_nats_headers(const struct header *headers, int count);

/* No CR, LF or NUL; no blank at either end, which readers of NATS headers take away. NULL is fine.
 */
const char *rules_nats_header_value(struct text value);

#endif
