/*
 * The memory of what was acknowledged: a table of places, and a list of losses.
 *
 * Everything happens under one mutex, for a batch and not for a message. A place of a destination
 * as a whole exists beside those of its partitions: it has the identity, the number of partitions,
 * and the time of the last loss.
 */

#include "broker/seen.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096 /* a power of two */
#define FOLD_MS 10000
#define LINES_MAX 16 /* in a minute */
/* A row's time of sending is that of its transaction, which began before the acknowledgement. */
#define SINCE_MARGIN_MS 600000

struct place {
    struct place *next; /* in its bucket */
    uint64_t hash;
    const char *sink; /* in `names`, like the next */
    struct text destination;
    int32_t partition;
    int32_t partitions; /* of the destination: one more than the highest that is known */
    int64_t position;
    int64_t first_ms;
    int64_t used_ms;    /* of clock_now_ms(), like the next */
    int64_t lost_ms;    /* when the last loss was recorded; 0: none was */
    int64_t checked_ms; /* of a cluster: when it was compared with what is remembered; 0 */
    bool changed;
    bool was_lost; /* what was acknowledged there is forgotten since */
    char identity[SEEN_IDENTITY_BYTES];
    char names[];
};

struct seen {
    pthread_mutex_t mutex;
    const char *audit;              /* "": there is no such command */
    struct place *buckets[BUCKETS]; /* owned */
    int count;
    struct seen_loss losses[SEEN_LOSSES_MAX];
    int loss_count;
    int64_t began_ms; /* nothing was sent before this; 0: not known */
};

static struct log_limit lines = {.lines = "losses of acknowledged messages"};

struct seen *seen_new(const char *audit)
{
    struct seen *seen = calloc(1, sizeof *seen);

    if (seen == NULL)
        return NULL;
    seen->audit = audit;
    (void)pthread_mutex_init(&seen->mutex, NULL);
    return seen;
}

void seen_free(struct seen *seen)
{
    if (seen == NULL)
        return;
    for (int i = 0; i < BUCKETS; i++)
        for (struct place *place = seen->buckets[i], *next; place != NULL; place = next) {
            next = place->next;
            free(place);
        }
    (void)pthread_mutex_destroy(&seen->mutex);
    free(seen);
}

/* ---- the table ---- */

static uint64_t hash_of(const struct seen_place *key)
{
    return text_hash(key->destination) ^ (text_hash(text_of(key->sink)) << 1) ^
           ((uint64_t)(uint32_t)key->partition * UINT64_C(0x9e3779b97f4a7c15));
}

/* A cluster's destination is empty, with data or without. */
static bool is_at(const struct place *place, const struct seen_place *key)
{
    return place->partition == key->partition && strcmp(place->sink, key->sink) == 0 &&
           (place->destination.len + key->destination.len == 0 ||
            text_equal(place->destination, key->destination));
}

static struct place *find(struct seen *seen, const struct seen_place *key)
{
    uint64_t hash = hash_of(key);

    for (struct place *place = seen->buckets[hash % BUCKETS]; place != NULL; place = place->next)
        if (place->hash == hash && is_at(place, key))
            return place;
    return NULL;
}

static void evict(struct seen *seen)
{
    struct place **oldest = NULL;
    struct place *place;

    for (int i = 0; i < BUCKETS; i++)
        for (struct place **at = &seen->buckets[i]; *at != NULL; at = &(*at)->next)
            if (oldest == NULL || (*at)->used_ms < (*oldest)->used_ms)
                oldest = at;
    place = *oldest;
    *oldest = place->next;
    free(place);
    seen->count--;
}

/* NULL: out of memory, or a name is too long. */
static struct place *add(struct seen *seen, const struct seen_place *key)
{
    size_t sink_size = strlen(key->sink) + 1;
    struct place *place;
    char *name;

    if (sink_size > SEEN_NAME_BYTES || key->destination.len >= SEEN_NAME_BYTES)
        return NULL;
    if (seen->count == SEEN_PLACES_MAX)
        evict(seen);
    place = calloc(1, sizeof *place + sink_size + key->destination.len + 1);
    if (place == NULL)
        return NULL;
    name = place->names + sink_size;
    memcpy(place->names, key->sink, sink_size);
    if (key->destination.len > 0)
        memcpy(name, key->destination.data, key->destination.len);
    place->sink = place->names;
    place->destination = (struct text){name, key->destination.len};
    place->partition = key->partition;
    place->hash = hash_of(key);
    place->position = SEEN_NOTHING;
    place->next = seen->buckets[place->hash % BUCKETS];
    seen->buckets[place->hash % BUCKETS] = place;
    seen->count++;
    return place;
}

static struct place *find_or_add(struct seen *seen, const struct seen_place *key)
{
    struct place *place = find(seen, key);

    if (place == NULL)
        place = add(seen, key);
    if (place != NULL)
        place->used_ms = clock_now_ms();
    return place;
}

static struct seen_place whole_of(const struct seen_place *key)
{
    return (struct seen_place){key->sink, key->destination, SEEN_WHOLE};
}

/* Makes the partition one of its destination. */
static void count_partition(struct seen *seen, const struct seen_place *key)
{
    struct seen_place whole = whole_of(key);
    struct place *place = key->partition != SEEN_WHOLE ? find_or_add(seen, &whole) : NULL;

    if (place != NULL && place->partitions <= key->partition)
        place->partitions = key->partition + 1;
}

/* ---- losses ---- */

/* What the places that a loss concerns have in common, and what is done to each. */
struct extent {
    int64_t first_ms; /* when something was first acknowledged; 0: nothing was */
    bool forgets;     /* forgets them, as nothing of them is left */
};

static void visit(struct place *place, struct extent *extent)
{
    if (place == NULL)
        return;
    if (place->position != SEEN_NOTHING &&
        (extent->first_ms == 0 || place->first_ms < extent->first_ms))
        extent->first_ms = place->first_ms;
    if (!extent->forgets)
        return;
    place->position = SEEN_NOTHING;
    place->first_ms = 0;
    place->was_lost = true;
    place->partitions = 0;
    place->identity[0] = '\0';
    place->changed = true;
}

static void visit_destination(struct seen *seen, const struct seen_place *key,
                              struct extent *extent)
{
    struct seen_place at = whole_of(key);
    struct place *whole = find(seen, &at);
    int32_t partitions = whole != NULL ? whole->partitions : 0;

    visit(whole, extent);
    for (at.partition = 0; at.partition < partitions; at.partition++)
        visit(find(seen, &at), extent);
}

static void visit_sink(struct seen *seen, const char *sink, struct extent *extent)
{
    for (int i = 0; i < BUCKETS; i++)
        for (struct place *place = seen->buckets[i]; place != NULL; place = place->next)
            if (strcmp(place->sink, sink) == 0)
                visit(place, extent);
}

/* What one partition has lost says nothing of the others. Returns since when something had been
 * acknowledged; 0: nothing was. */
static int64_t visit_lost(struct seen *seen, const struct seen_place *key, bool forgets)
{
    struct extent extent = {.forgets = forgets};

    if (key->partition != SEEN_WHOLE)
        visit(find(seen, key), &extent);
    else if (key->destination.len > 0)
        visit_destination(seen, key, &extent);
    else
        visit_sink(seen, key->sink, &extent);
    return extent.first_ms;
}

static bool was_said(const struct place *place, int64_t now_ms)
{
    return place != NULL && place->lost_ms != 0 && now_ms - place->lost_ms < FOLD_MS;
}

/* Whether a loss of the destination, or of the whole cluster, was recorded a moment ago. */
static bool is_folded(struct seen *seen, const struct seen_place *key)
{
    const struct seen_place cluster = {key->sink, {NULL, 0}, SEEN_WHOLE};
    const struct seen_place whole = whole_of(key);
    int64_t now_ms = clock_now_ms();
    bool folded = was_said(find(seen, &cluster), now_ms) || was_said(find(seen, &whole), now_ms);
    struct place *place = folded ? NULL : find_or_add(seen, &whole);

    if (place != NULL)
        place->lost_ms = now_ms;
    return folded;
}

static void log_loss(const struct seen *seen, const struct seen_loss *loss)
{
    char since[40];
    char hint[512];

    if (!log_limit_takes(&lines, LINES_MAX, clock_now_ms()))
        return;
    (void)snprintf(hint, sizeof hint,
                   "%s --sink %s --since %s says which events are missing there; "
                   "with --repair it sends them again",
                   seen->audit, loss->sink, clock_utc(since, loss->since_ms, false));
    log_event(LOG_WARN,
              LOG_FIELDS(.sink = loss->sink, .destination = text_of(loss->destination),
                         .hint = seen->audit[0] != '\0' ? hint : NULL),
              "acknowledged messages are lost: %s", loss->text);
}

/* The list is full: the last loss of the sink stands for several, or the last one of all. */
static void merge_loss(struct seen *seen, const struct seen_loss *loss)
{
    int at = SEEN_LOSSES_MAX - 1;
    struct seen_loss *kept;

    while (at > 0 && strcmp(seen->losses[at].sink, loss->sink) != 0)
        at--;
    kept = &seen->losses[strcmp(seen->losses[at].sink, loss->sink) == 0 ? at : SEEN_LOSSES_MAX - 1];
    if (loss->since_ms < kept->since_ms)
        kept->since_ms = loss->since_ms;
    kept->destination[0] = '\0';
    (void)snprintf(kept->text, sizeof kept->text, "several destinations have lost messages");
}

static void record(struct seen *seen, const struct seen_place *key, int64_t first_ms,
                   const char *text)
{
    struct seen_loss loss = {.since_ms = first_ms - SINCE_MARGIN_MS};

    (void)snprintf(loss.sink, sizeof loss.sink, "%s", key->sink);
    (void)snprintf(loss.destination, sizeof loss.destination, "%.*s", (int)key->destination.len,
                   key->destination.len > 0 ? key->destination.data : "");
    (void)snprintf(loss.text, sizeof loss.text, "%s", text);
    log_loss(seen, &loss);
    if (seen->loss_count < SEEN_LOSSES_MAX)
        seen->losses[seen->loss_count++] = loss;
    else
        merge_loss(seen, &loss);
}

static struct place *cluster_of(struct seen *seen, const char *sink)
{
    return find_or_add(seen, &(struct seen_place){sink, {NULL, 0}, SEEN_WHOLE});
}

static void lose(struct seen *seen, const struct seen_place *key, const char *text)
{
    int64_t first_ms = visit_lost(seen, key, true);
    struct place *cluster = cluster_of(seen, key->sink);

    if (first_ms == 0)
        return;
    if (cluster != NULL)
        cluster->checked_ms = 0; /* where one is lost, others may be */
    if (!is_folded(seen, key))
        record(seen, key, first_ms, text);
}

/* ---- what callers say ---- */

int64_t seen_floor(struct seen *seen, const struct seen_place *key)
{
    const struct place *place;
    int64_t position;

    if (seen == NULL)
        return SEEN_NOTHING;
    (void)pthread_mutex_lock(&seen->mutex);
    place = find(seen, key);
    position = place != NULL ? place->position : SEEN_NOTHING;
    (void)pthread_mutex_unlock(&seen->mutex);
    return position;
}

int32_t seen_partitions(struct seen *seen, const char *sink, struct text destination)
{
    const struct seen_place whole = {sink, destination, SEEN_WHOLE};
    const struct place *place;
    int32_t partitions;

    if (seen == NULL)
        return 0;
    (void)pthread_mutex_lock(&seen->mutex);
    place = find(seen, &whole);
    partitions = place != NULL ? place->partitions : 0;
    (void)pthread_mutex_unlock(&seen->mutex);
    return partitions;
}

static void raise(struct seen *seen, const struct seen_place *key, int64_t position)
{
    struct place *place = find_or_add(seen, key);

    if (place == NULL || position <= place->position)
        return;
    if (place->position == SEEN_NOTHING)
        count_partition(seen, key);
    place->position = position;
    if (place->first_ms == 0)
        place->first_ms =
            place->was_lost || seen->began_ms == 0 ? clock_wall_us() / 1000 : seen->began_ms;
    place->changed = true;
}

/* A position below the floor is a loss, and is said unless somebody else has: then the place is
 * lower than the floor now. */
static void went_back(struct seen *seen, const struct seen_place *key, int64_t floor,
                      const char *what, int64_t position)
{
    const struct place *place = find(seen, key);
    char partition[32] = "";
    char end[64] = "is empty";
    char text[256];

    if (place == NULL || place->position < floor)
        return;
    if (key->partition != SEEN_WHOLE)
        (void)snprintf(partition, sizeof partition, "partition %d ", (int)key->partition);
    if (position >= 0)
        (void)snprintf(end, sizeof end, "%s %lld", what, (long long)position);
    (void)snprintf(text, sizeof text, "%s%s, but %lld had been acknowledged before", partition, end,
                   (long long)floor);
    lose(seen, key, text);
}

bool seen_acknowledged(struct seen *seen, const struct seen_place *key, int64_t floor,
                       int64_t position)
{
    if (seen == NULL)
        return true;
    (void)pthread_mutex_lock(&seen->mutex);
    if (position > floor)
        raise(seen, key, position);
    else
        went_back(seen, key, floor, "gives a new message the position", position);
    (void)pthread_mutex_unlock(&seen->mutex);
    return position > floor;
}

bool seen_end(struct seen *seen, const struct seen_place *key, int64_t floor, int64_t end)
{
    if (seen == NULL || end >= floor)
        return true;
    (void)pthread_mutex_lock(&seen->mutex);
    went_back(seen, key, floor, "ends with the position", end);
    (void)pthread_mutex_unlock(&seen->mutex);
    return false;
}

bool seen_check_is_due(struct seen *seen, const char *sink, int64_t interval_ms)
{
    int64_t now_ms = clock_now_ms();
    struct place *cluster;
    bool is_due;

    if (seen == NULL)
        return false;
    (void)pthread_mutex_lock(&seen->mutex);
    cluster = cluster_of(seen, sink);
    is_due = cluster != NULL &&
             (cluster->checked_ms == 0 || now_ms - cluster->checked_ms >= interval_ms);
    if (is_due)
        cluster->checked_ms = now_ms;
    (void)pthread_mutex_unlock(&seen->mutex);
    return is_due;
}

static void identify(struct seen *seen, const struct seen_place *key, const char *identity)
{
    bool is_cluster = key->destination.len == 0;
    struct place *place = find_or_add(seen, key);
    char text[256];

    if (place == NULL || strcmp(place->identity, identity) == 0)
        return;
    if (place->identity[0] != '\0') {
        (void)snprintf(text, sizeof text,
                       is_cluster ? "the servers belong to cluster %s, and belonged to %s before"
                                  : "it was made anew at %s; the one before was made at %s",
                       identity, place->identity);
        lose(seen, key, text);
    }
    /* Looked up again: recording a loss may have evicted it. */
    place = find_or_add(seen, key);
    if (place == NULL)
        return;
    (void)snprintf(place->identity, sizeof place->identity, "%s", identity);
    place->changed = true;
}

void seen_identify(struct seen *seen, const struct seen_place *key, const char *identity)
{
    if (seen == NULL || strlen(identity) >= SEEN_IDENTITY_BYTES)
        return;
    (void)pthread_mutex_lock(&seen->mutex);
    identify(seen, key, identity);
    (void)pthread_mutex_unlock(&seen->mutex);
}

void seen_lost(struct seen *seen, const struct seen_place *key, const char *text)
{
    if (seen == NULL)
        return;
    (void)pthread_mutex_lock(&seen->mutex);
    lose(seen, key, text);
    (void)pthread_mutex_unlock(&seen->mutex);
}

/* ---- what the process fetches and gives back ---- */

int seen_take_losses(struct seen *seen, struct seen_loss *losses, int max)
{
    int count;

    if (seen == NULL)
        return 0;
    (void)pthread_mutex_lock(&seen->mutex);
    count = seen->loss_count < max ? seen->loss_count : max;
    memcpy(losses, seen->losses, (size_t)count * sizeof *losses);
    seen->loss_count -= count;
    memmove(seen->losses, seen->losses + count, (size_t)seen->loss_count * sizeof *losses);
    (void)pthread_mutex_unlock(&seen->mutex);
    return count;
}

void seen_each(struct seen *seen, bool changed,
               void (*on_place)(void *closure, const struct seen_memory *memory), void *closure)
{
    if (seen == NULL)
        return;
    (void)pthread_mutex_lock(&seen->mutex);
    for (int i = 0; i < BUCKETS; i++)
        for (struct place *place = seen->buckets[i]; place != NULL; place = place->next) {
            const struct seen_memory memory = {
                .place = {place->sink, place->destination, place->partition},
                .identity = place->identity,
                .position = place->position,
                .first_ms = place->first_ms};

            if (changed && !place->changed)
                continue;
            place->changed = place->changed && !changed;
            on_place(closure, &memory);
        }
    (void)pthread_mutex_unlock(&seen->mutex);
}

void seen_began(struct seen *seen, int64_t began_ms)
{
    (void)pthread_mutex_lock(&seen->mutex);
    seen->began_ms = began_ms;
    (void)pthread_mutex_unlock(&seen->mutex);
}

void seen_restore(struct seen *seen, const struct seen_memory *memory)
{
    struct place *place;

    if (seen == NULL)
        return;
    (void)pthread_mutex_lock(&seen->mutex);
    place = find_or_add(seen, &memory->place);
    if (place != NULL) {
        if (memory->position > place->position)
            place->position = memory->position;
        if (memory->first_ms > 0 && (place->first_ms == 0 || memory->first_ms < place->first_ms))
            place->first_ms = memory->first_ms;
        if (place->identity[0] == '\0' && strlen(memory->identity) < SEEN_IDENTITY_BYTES)
            (void)snprintf(place->identity, sizeof place->identity, "%s", memory->identity);
        if (memory->position != SEEN_NOTHING)
            count_partition(seen, &memory->place);
    }
    (void)pthread_mutex_unlock(&seen->mutex);
}
