#ifndef AUDIT_RECORDS_H
#define AUDIT_RECORDS_H

#include "audit/audit.h"
#include "audit/sorter.h"

#include <openssl/evp.h>

/* Shared by the files of this folder. */

enum record_kind { RECORD_KNOWN, RECORD_ROW, RECORD_HELD };

/* A row, a message, or an event id that the table has; its ids follow it. */
struct record {
    uint32_t size;
    uint16_t event_id_len;
    uint16_t id_len; /* of a row */
    int64_t rank, sent_ms;
    int64_t position, time_ms;
    int32_t sink, topic, partition;
    uint32_t route_key; /* a hash of it */
    struct audit_digest content, key;
    uint8_t kind;
    bool has_content, has_key, was_parked, is_replayed;
    char texts[];
};

_Static_assert(sizeof(struct record) + 2 * AUDIT_TEXT_MAX + 8 <= SORTER_RECORD_MAX,
               "each record fits into a sorter");

struct audit {
    const struct audit_judge *judge; /* during a comparison */
    EVP_MD_CTX *hashing;
    struct sorter *events;  /* rows and messages, by event */
    struct sorter *absent;  /* rows that are not held, in the order of their ids */
    struct sorter *placed;  /* rows with the place where they are held first, by key and place */
    struct sorter *unknown; /* messages of events without a row, and ids that are known, by event */
    int64_t counts[AUDIT_KINDS];
    struct audit_seen seen;                   /* but unknown_is_oldest */
    int64_t first_found_ms, first_unknown_ms; /* INT64_MAX: there is none */
    const struct header **sorted;             /* for audit_hash_content() */
    int sorted_capacity;
};

/* Adds a copy, which the caller may change; NULL with *error set on failure. */
struct record *records_copy(struct sorter *sorter, const struct record *record,
                            struct error *error);

static inline int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* By event id; by key and place. */
int records_compare_ids(const struct record *a, const struct record *b);
int records_compare_places(const struct record *a, const struct record *b);
/* By content; of pointers to records. */
int records_compare_contents(const void *a, const void *b);

/* What is said of a row, of a message, or of both; the other is NULL. */
struct audit_finding records_finding(const struct record *row, const struct record *held);
/* Counts it, and reports what is a finding. */
void records_report(struct audit *audit, enum audit_kind kind, struct audit_finding finding);

/* order.c: compares the order of each key. 0, or -1. */
int records_compare_order(struct audit *audit, struct error *error);

#endif
