#ifndef AUDIT_RECORDS_H
#define AUDIT_RECORDS_H

#include "audit/audit.h"
#include "audit/spill.h"

#include <openssl/evp.h>
#include <string.h>

/* Shared by the files of this folder. A record begins with its size, a multiple of 8; the bytes of
 * its event id, and of a row's id, follow it. */

struct row_record {
    uint32_t size;
    uint16_t event_id_len;
    uint16_t id_len;
    int64_t rank;
    int64_t sent_ms;
    int32_t sink, topic, partition;
    uint32_t route_key; /* a hash of it */
    bool has_content, has_key, was_parked;
    struct audit_digest content, key;
    char texts[];
};

struct held_record {
    uint32_t size;
    uint16_t event_id_len;
    bool is_replayed;
    int32_t sink, topic, partition;
    uint32_t route_key; /* a hash of it */
    int64_t position;
    int64_t time_ms;
    struct audit_digest content;
    char texts[];
};

/* Where the order of a key is kept. */
struct place {
    struct audit_digest key;
    int32_t sink, topic, partition;
};

/* Where an event of a key is held first. */
struct placed_record {
    uint32_t size;
    uint16_t event_id_len;
    uint16_t id_len;
    bool was_parked, is_replayed;
    struct place place;
    int64_t rank;
    int64_t position;
    int64_t time_ms;
    int64_t sent_ms;
    char texts[];
};

struct known_record {
    uint32_t size;
    uint16_t event_id_len;
    char texts[];
};

_Static_assert(sizeof(struct placed_record) + 2 * AUDIT_TEXT_MAX + 8 <= SPILL_PART_BYTES,
               "records_visit() keeps two parts of each run in memory");

/* At most so much of the events of one key is in memory, or one in SPILL_BUCKETS of its bucket. */
#define ORDER_BYTES ((size_t)16 * 1024 * 1024)

struct audit {
    EVP_MD_CTX *hashing;
    size_t order_bytes; /* ORDER_BYTES, or what a test has chosen */
    struct spill *rows;
    struct spill *held;
    struct spill *placed;
    struct spill *absent;  /* of row_record; rows that are not held; NULL: there are none */
    struct spill *unknown; /* of held_record; messages of events without a row */
    struct spill *known;
    int64_t unknown_count;
    int64_t counts[AUDIT_KINDS];
    int64_t lag_ms, lead_ms;
    bool has_moved;
    int64_t first_found_ms, first_unknown_ms; /* INT64_MAX: there is none */
    const struct header **sorted;             /* for audit_hash_content() */
    int sorted_capacity;
    char *scratch; /* the record that is being made */
    size_t scratch_size;
};

/* The room for a record of `fixed` bytes and these texts, zeroed; NULL: no memory. *size is that of
 * the whole. */
void *audit_record(struct audit *audit, size_t fixed, size_t text_len, uint32_t *size);
uint64_t audit_bucket_of(const char *bytes, size_t len);

/* Pointers to the records of a bucket. */
struct records {
    char *bytes;       /* owned */
    const void **list; /* owned */
    size_t count;
};

/* Takes a bucket and sorts its records. 0, or -1 with *error set. */
int records_take(struct spill *spill, int bucket, int (*compare)(const void *, const void *),
                 struct records *records, struct error *error);
/* Makes the sorted list of the whole records in the first `len` of the bytes. 0, or -1. */
int records_sort(struct records *records, size_t len, int (*compare)(const void *, const void *),
                 struct error *error);
void records_free(struct records *records);

/* Of the record that `bytes` begin with; 0: there is none, or its end is not there. */
static inline size_t record_size(const char *bytes, size_t len)
{
    uint32_t size = 0;

    if (len >= sizeof size)
        memcpy(&size, bytes, sizeof size);
    return size <= len ? size : 0;
}

struct visitor {
    int (*compare)(const void *, const void *); /* of pointers to records */
    void (*visit)(void *closure, const void *record);
    void *closure;
};

/* Takes a bucket and visits its records in their order. One of more than `memory` bytes is sorted
 * in another file, with about so much in memory. 0, or -1 with *error set. */
int records_visit(struct spill *spill, int bucket, size_t memory, const struct visitor *visitor,
                  struct error *error);

static inline int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* order.c: compares the order of each key. 0, or -1. */
int audit_compare_order(struct audit *audit, const struct audit_judge *judge, struct error *error);

#endif
