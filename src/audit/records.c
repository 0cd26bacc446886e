/* Rows, messages and their hashes become records. */
#include "audit/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SERVER_PREFIX "Nats-"

/* ---- their order ---- */

int records_compare_ids(const struct record *a, const struct record *b)
{
    uint16_t shorter = a->event_id_len < b->event_id_len ? a->event_id_len : b->event_id_len;
    int order = memcmp(a->texts, b->texts, shorter);

    return order != 0 ? order : compare_numbers(a->event_id_len, b->event_id_len);
}

int records_compare_contents(const void *a, const void *b)
{
    const struct record *left = *(const struct record *const *)a;
    const struct record *right = *(const struct record *const *)b;

    return memcmp(&left->content, &right->content, sizeof left->content);
}

/* By event; then by sink, rows before messages, by content or place. */
static int compare_events(const void *a, const void *b)
{
    const struct record *left = *(const struct record *const *)a;
    const struct record *right = *(const struct record *const *)b;
    int order = records_compare_ids(left, right);

    if (order == 0)
        order = compare_numbers(left->sink, right->sink);
    if (order == 0)
        order = compare_numbers(left->kind, right->kind);
    if (order == 0 && left->kind == RECORD_ROW) {
        order = records_compare_contents(a, b);
        return order != 0 ? order : compare_numbers(left->rank, right->rank);
    }
    if (order == 0)
        order = compare_numbers(left->topic, right->topic);
    if (order == 0)
        order = compare_numbers(left->partition, right->partition);
    return order != 0 ? order : compare_numbers(left->position, right->position);
}

int records_compare_places(const struct record *a, const struct record *b)
{
    int order = memcmp(&a->key, &b->key, sizeof a->key);

    if (order == 0)
        order = compare_numbers(a->sink, b->sink);
    if (order == 0)
        order = compare_numbers(a->topic, b->topic);
    return order != 0 ? order : compare_numbers(a->partition, b->partition);
}

/* By key and place; then as the broker has them. */
static int compare_placed(const void *a, const void *b)
{
    const struct record *left = *(const struct record *const *)a;
    const struct record *right = *(const struct record *const *)b;
    int order = records_compare_places(left, right);

    if (order == 0)
        order = compare_numbers(left->position, right->position);
    return order != 0 ? order : compare_numbers(left->rank, right->rank);
}

/* By the order of the ids. */
static int compare_ranks(const void *a, const void *b)
{
    const struct record *left = *(const struct record *const *)a;
    const struct record *right = *(const struct record *const *)b;
    int order = compare_numbers(left->rank, right->rank);

    return order != 0 ? order : compare_events(a, b);
}

/* ---- all of them ---- */

struct audit *audit_open(size_t memory, struct error *error)
{
    struct audit *audit = calloc(1, sizeof *audit);

    if (audit == NULL || (audit->hashing = EVP_MD_CTX_new()) == NULL) {
        (void)error_no_memory(error);
        free(audit);
        return NULL;
    }
    audit->first_found_ms = INT64_MAX;
    audit->first_unknown_ms = INT64_MAX;
    if (EVP_DigestInit_ex(audit->hashing, EVP_sha256(), NULL) != 1)
        (void)error_set(error, ERROR_PERMANENT, ERROR_SELF, "OpenSSL has no SHA-256");
    else if ((audit->events = sorter_open(memory, compare_events, error)) != NULL &&
             (audit->absent = sorter_open(memory, compare_ranks, error)) != NULL &&
             (audit->placed = sorter_open(memory, compare_placed, error)) != NULL &&
             (audit->unknown = sorter_open(memory, compare_events, error)) != NULL)
        return audit;
    audit_close(audit);
    return NULL;
}

void audit_close(struct audit *audit)
{
    if (audit == NULL)
        return;
    sorter_close(audit->events);
    sorter_close(audit->absent);
    sorter_close(audit->placed);
    sorter_close(audit->unknown);
    EVP_MD_CTX_free(audit->hashing);
    free(audit->sorted);
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

/* What stands for an id: the id itself, or for a very long one its hash in hex. `hex` has room. */
static struct text shorten(struct audit *audit, struct text id,
                           char hex[2 * AUDIT_DIGEST_BYTES + 1])
{
    struct audit_digest digest;

    if (id.len <= AUDIT_TEXT_MAX)
        return id;
    digest = audit_hash_text(audit, id);
    for (int i = 0; i < AUDIT_DIGEST_BYTES; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest.bytes[i]);
    return text_of(hex);
}

/* Adds a record with these ids, of which the caller fills the rest; NULL with *error set. */
static struct record *add(struct audit *audit, struct sorter *sorter, enum record_kind kind,
                          struct text event_id, struct text id, struct error *error)
{
    char hex[2][2 * AUDIT_DIGEST_BYTES + 1];
    struct record *record;

    event_id = shorten(audit, event_id, hex[0]);
    id = shorten(audit, id, hex[1]);
    record = sorter_add(sorter, (sizeof *record + event_id.len + id.len + 7) / 8 * 8, error);
    if (record == NULL)
        return NULL;
    record->kind = (uint8_t)kind;
    record->event_id_len = (uint16_t)event_id.len;
    record->id_len = (uint16_t)id.len;
    if (event_id.len > 0)
        memcpy(record->texts, event_id.data, event_id.len);
    if (id.len > 0)
        memcpy(record->texts + event_id.len, id.data, id.len);
    return record;
}

int audit_add_row(struct audit *audit, const struct audit_row *row, struct error *error)
{
    struct record *record = add(audit, audit->events, RECORD_ROW, row->event_id, row->id, error);

    if (record == NULL)
        return -1;
    record->rank = row->rank;
    record->sent_ms = row->sent_ms;
    record->position = -1;
    record->sink = row->sink;
    record->topic = row->topic;
    record->partition = row->partition;
    record->route_key = (uint32_t)text_hash(row->route_key);
    record->content = row->content;
    record->key = row->key;
    record->has_content = row->has_content;
    record->has_key = row->has_key;
    record->was_parked = row->was_parked;
    return 0;
}

int audit_add_held(struct audit *audit, const struct audit_held *held, struct error *error)
{
    struct record *record =
        add(audit, audit->events, RECORD_HELD, held->event_id, (struct text){NULL, 0}, error);

    if (record == NULL)
        return -1;
    record->position = held->position;
    record->time_ms = held->time_ms;
    record->sink = held->sink;
    record->topic = held->topic;
    record->partition = held->partition;
    record->route_key = (uint32_t)text_hash(held->key);
    record->content = held->content;
    record->is_replayed = held->is_replayed;
    return 0;
}

/* It comes before the messages of its event. */
int audit_add_known(struct audit *audit, struct text event_id, struct error *error)
{
    struct record *record =
        add(audit, audit->unknown, RECORD_KNOWN, event_id, (struct text){NULL, 0}, error);

    if (record == NULL)
        return -1;
    record->sink = -1;
    return 0;
}

struct record *records_copy(struct sorter *sorter, const struct record *record, struct error *error)
{
    struct record *copy = sorter_add(sorter, record->size, error);

    return copy != NULL ? memcpy(copy, record, record->size) : NULL;
}

/* ---- what is found ---- */

struct audit_finding records_finding(const struct record *row, const struct record *held)
{
    const struct record *ids = row != NULL ? row : held;
    const struct record *place = held != NULL ? held : row;

    return (struct audit_finding){
        .event_id = {ids->texts, ids->event_id_len},
        .id = {row != NULL ? row->texts + row->event_id_len : NULL, ids->id_len},
        .sent_ms = ids->sent_ms,
        .sink = place->sink,
        .topic = place->topic,
        .partition = place->partition,
        .position = place->position,
        .time_ms = place->time_ms};
}

void records_report(struct audit *audit, enum audit_kind kind, struct audit_finding finding)
{
    finding.kind = kind;
    audit->counts[kind]++;
    if (kind < AUDIT_FINDINGS)
        audit->judge->on_finding(audit->judge->closure, &finding);
}

int64_t audit_count(const struct audit *audit, enum audit_kind kind)
{
    return audit->counts[kind];
}

void audit_leave_unknown(struct audit *audit)
{
    audit->counts[AUDIT_UNTOLD] += audit->seen.unknown;
    audit->seen.unknown = 0;
}

struct audit_seen audit_seen(const struct audit *audit)
{
    struct audit_seen seen = audit->seen;

    seen.unknown_is_oldest = audit->first_unknown_ms < audit->first_found_ms;
    return seen;
}
