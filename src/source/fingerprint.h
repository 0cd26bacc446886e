#ifndef SOURCE_FINGERPRINT_H
#define SOURCE_FINGERPRINT_H

#include <jansson.h>
#include <stddef.h>

/*
 * What a relay would do with a row, as hashes of the parts of its configuration, so that relays of
 * one table can be compared by what they answer to `status`. No value of the configuration is in
 * it, and nothing secret is hashed. relay/fingerprint.h makes it.
 */

#define FINGERPRINT_SINKS_MAX 16
#define FINGERPRINT_HASH_BYTES 9 /* eight hexadecimal digits and a NUL */

struct fingerprint {
    char routes[FINGERPRINT_HASH_BYTES];
    char outbox[FINGERPRINT_HASH_BYTES]; /* columns, headers, on_sent */
    struct fingerprint_sink {
        char name[64];
        char server[FINGERPRINT_HASH_BYTES];   /* type, addresses, stream */
        char settings[FINGERPRINT_HASH_BYTES]; /* what else becomes of its messages */
    } sinks[FINGERPRINT_SINKS_MAX];
    int sink_count;
};

/* The eight digits of a text. */
void fingerprint_hash(const char *text, char out[FINGERPRINT_HASH_BYTES]);
/* {"routes": HASH, "outbox": HASH, "sinks": [[SERVER, SETTINGS]]}. NULL: no memory. */
json_t *fingerprint_pack(const struct fingerprint *fingerprint);
/* The same, but "sinks" is an object: {NAME: [SERVER, SETTINGS]}, as relays.sql makes it of an
 * answer. */
json_t *fingerprint_by_name(const struct fingerprint *fingerprint);

#endif
