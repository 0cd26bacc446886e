/* Rows, messages and their hashes become records. */
#include "audit/records.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SERVER_PREFIX "Nats-"

struct audit *audit_open(struct error *error)
{
    struct audit *audit = calloc(1, sizeof *audit);

    if (audit == NULL || (audit->hashing = EVP_MD_CTX_new()) == NULL) {
        (void)error_no_memory(error);
        free(audit);
        return NULL;
    }
    if (EVP_DigestInit_ex(audit->hashing, EVP_sha256(), NULL) != 1) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_SELF, "OpenSSL has no SHA-256");
        audit_close(audit);
        return NULL;
    }
    audit->order_bytes = ORDER_BYTES;
    audit->first_found_ms = INT64_MAX;
    audit->first_unknown_ms = INT64_MAX;
    if ((audit->rows = spill_open(error)) != NULL && (audit->held = spill_open(error)) != NULL &&
        (audit->placed = spill_open(error)) != NULL && (audit->unknown = spill_open(error)) != NULL)
        return audit;
    audit_close(audit);
    return NULL;
}

void audit_close(struct audit *audit)
{
    if (audit == NULL)
        return;
    spill_close(audit->rows);
    spill_close(audit->held);
    spill_close(audit->placed);
    spill_close(audit->absent);
    spill_close(audit->unknown);
    spill_close(audit->known);
    EVP_MD_CTX_free(audit->hashing);
    free(audit->sorted);
    free(audit->scratch);
    free(audit);
}

/* ---- hashes ---- */

/* NULL and "" differ, and no text can be moved from one field to the next. */
static void hash_field(struct audit *audit, struct text text)
{
    int64_t len = text.data != NULL ? (int64_t)text.len : -1;

    (void)EVP_DigestUpdate(audit->hashing, &len, sizeof len);
    if (text.len > 0)
        (void)EVP_DigestUpdate(audit->hashing, text.data, text.len);
}

static struct audit_digest end_hash(struct audit *audit)
{
    unsigned char whole[EVP_MAX_MD_SIZE] = {0};
    struct audit_digest digest;

    (void)EVP_DigestFinal_ex(audit->hashing, whole, NULL);
    memcpy(digest.bytes, whole, sizeof digest.bytes);
    return digest;
}

static int compare_texts(struct text a, struct text b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_headers(const void *a, const void *b)
{
    const struct header *left = *(const struct header *const *)a;
    const struct header *right = *(const struct header *const *)b;
    int order = compare_texts(left->name, right->name);

    return order != 0 ? order : compare_texts(left->value, right->value);
}

static bool is_of_server(struct text name)
{
    size_t len = sizeof SERVER_PREFIX - 1;

    return name.len >= len && strncasecmp(name.data, SERVER_PREFIX, len) == 0;
}

int audit_hash_content(struct audit *audit, struct text destination, struct text key,
                       struct text payload, const struct header *headers, int count,
                       struct text left_out, struct audit_digest *digest)
{
    int kept = 0;

    if (count > audit->sorted_capacity) {
        const struct header **grown =
            realloc(audit->sorted, (size_t)count * sizeof(*audit->sorted));

        if (grown == NULL)
            return -1;
        audit->sorted = grown;
        audit->sorted_capacity = count;
    }
    for (int i = 0; i < count; i++)
        if (!is_of_server(headers[i].name) &&
            (left_out.data == NULL || !text_equal(headers[i].name, left_out)))
            audit->sorted[kept++] = &headers[i];
    if (kept > 1)
        qsort(audit->sorted, (size_t)kept, sizeof(*audit->sorted), compare_headers);
    (void)EVP_DigestInit_ex(audit->hashing, EVP_sha256(), NULL);
    hash_field(audit, destination);
    hash_field(audit, key);
    hash_field(audit, payload);
    for (int i = 0; i < kept; i++) {
        hash_field(audit, audit->sorted[i]->name);
        hash_field(audit, audit->sorted[i]->value);
    }
    *digest = end_hash(audit);
    return 0;
}

struct audit_digest audit_hash_text(struct audit *audit, struct text text)
{
    (void)EVP_DigestInit_ex(audit->hashing, EVP_sha256(), NULL);
    hash_field(audit, text);
    return end_hash(audit);
}

/* ---- records ---- */

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
uint64_t audit_bucket_of(const char *bytes, size_t len)
{
    uint64_t hash = 0xCBF29CE484222325;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001B3;
    return hash ^ hash >> 32;
}

void *audit_record(struct audit *audit, size_t fixed, size_t text_len, uint32_t *size)
{
    size_t whole = (fixed + text_len + 7) / 8 * 8;

    if (whole > audit->scratch_size) {
        char *grown = realloc(audit->scratch, whole);

        if (grown == NULL)
            return NULL;
        audit->scratch = grown;
        audit->scratch_size = whole;
    }
    memset(audit->scratch, 0, whole);
    *size = (uint32_t)whole;
    return audit->scratch;
}

/* What stands for an id: the id itself, or for a very long one its hash in hex. `hex` has room. */
static struct text shorten(struct audit *audit, struct text id, char hex[2 * AUDIT_DIGEST_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    struct audit_digest digest;

    if (id.len <= AUDIT_TEXT_MAX)
        return id;
    digest = audit_hash_text(audit, id);
    for (int i = 0; i < AUDIT_DIGEST_BYTES; i++) {
        hex[2 * i] = digits[digest.bytes[i] >> 4];
        hex[2 * i + 1] = digits[digest.bytes[i] & 15];
    }
    return (struct text){hex, 2 * AUDIT_DIGEST_BYTES};
}

static void copy_texts(char *to, struct text first, struct text second)
{
    if (first.len > 0)
        memcpy(to, first.data, first.len);
    if (second.len > 0)
        memcpy(to + first.len, second.data, second.len);
}

static uint32_t hash_key(struct text key)
{
    return (uint32_t)audit_bucket_of(key.data, key.len);
}

int audit_add_row(struct audit *audit, const struct audit_row *row, struct error *error)
{
    char hex[2][2 * AUDIT_DIGEST_BYTES];
    struct text event_id = shorten(audit, row->event_id, hex[0]);
    struct text id = shorten(audit, row->id, hex[1]);
    uint32_t size;
    struct row_record *record = audit_record(audit, sizeof *record, event_id.len + id.len, &size);

    if (record == NULL)
        return error_no_memory(error);
    *record = (struct row_record){.size = size,
                                  .event_id_len = (uint16_t)event_id.len,
                                  .id_len = (uint16_t)id.len,
                                  .rank = row->rank,
                                  .sent_ms = row->sent_ms,
                                  .sink = row->sink,
                                  .topic = row->topic,
                                  .partition = row->partition,
                                  .route_key = hash_key(row->route_key),
                                  .has_content = row->has_content,
                                  .has_key = row->has_key,
                                  .was_parked = row->was_parked,
                                  .content = row->content,
                                  .key = row->key};
    copy_texts(record->texts, event_id, id);
    return spill_put(audit->rows, audit_bucket_of(record->texts, event_id.len), record, size,
                     error);
}

int audit_add_held(struct audit *audit, const struct audit_held *held, struct error *error)
{
    char hex[2 * AUDIT_DIGEST_BYTES];
    struct text event_id = shorten(audit, held->event_id, hex);
    uint32_t size;
    struct held_record *record = audit_record(audit, sizeof *record, event_id.len, &size);

    if (record == NULL)
        return error_no_memory(error);
    *record = (struct held_record){.size = size,
                                   .event_id_len = (uint16_t)event_id.len,
                                   .is_replayed = held->is_replayed,
                                   .sink = held->sink,
                                   .topic = held->topic,
                                   .partition = held->partition,
                                   .route_key = hash_key(held->key),
                                   .position = held->position,
                                   .time_ms = held->time_ms,
                                   .content = held->content};
    copy_texts(record->texts, event_id, (struct text){NULL, 0});
    return spill_put(audit->held, audit_bucket_of(record->texts, event_id.len), record, size,
                     error);
}

int audit_add_known(struct audit *audit, struct text event_id, struct error *error)
{
    char hex[2 * AUDIT_DIGEST_BYTES];
    struct text text = shorten(audit, event_id, hex);
    uint32_t size;
    struct known_record *record = audit_record(audit, sizeof *record, text.len, &size);

    if (audit->known == NULL && (audit->known = spill_open(error)) == NULL)
        return -1;
    if (record == NULL)
        return error_no_memory(error);
    record->size = size;
    record->event_id_len = (uint16_t)text.len;
    copy_texts(record->texts, text, (struct text){NULL, 0});
    return spill_put(audit->known, audit_bucket_of(record->texts, text.len), record, size, error);
}

/* ---- a bucket ---- */

int records_sort(struct records *records, size_t len, int (*compare)(const void *, const void *),
                 struct error *error)
{
    size_t count = 0;
    size_t size;

    for (size_t at = 0; (size = record_size(records->bytes + at, len - at)) > 0; at += size)
        count++;
    records->list = malloc((count > 0 ? count : 1) * sizeof(*records->list));
    if (records->list == NULL)
        return error_no_memory(error);
    for (size_t at = 0; records->count < count; at += size) {
        size = record_size(records->bytes + at, len - at);
        records->list[records->count++] = records->bytes + at;
    }
    if (count > 1)
        qsort(records->list, count, sizeof(*records->list), compare);
    return 0;
}

int records_take(struct spill *spill, int bucket, int (*compare)(const void *, const void *),
                 struct records *records, struct error *error)
{
    size_t len;

    *records = (struct records){NULL, NULL, 0};
    if (spill_take(spill, bucket, &records->bytes, &len, error) < 0)
        return -1;
    return records_sort(records, len, compare, error);
}

void records_free(struct records *records)
{
    free(records->bytes);
    free(records->list);
    *records = (struct records){NULL, NULL, 0};
}

int64_t audit_count(const struct audit *audit, enum audit_kind kind)
{
    return audit->counts[kind];
}

int64_t audit_unknown(const struct audit *audit)
{
    return audit->unknown_count;
}

void audit_leave_unknown(struct audit *audit)
{
    audit->counts[AUDIT_UNTOLD] += audit->unknown_count;
    audit->unknown_count = 0;
}

bool audit_unknown_is_oldest(const struct audit *audit)
{
    return audit->first_unknown_ms < audit->first_found_ms;
}

int64_t audit_lag_ms(const struct audit *audit)
{
    return audit->lag_ms;
}

bool audit_has_moved(const struct audit *audit)
{
    return audit->has_moved;
}

int64_t audit_lead_ms(const struct audit *audit)
{
    return audit->lead_ms;
}
