#include "relay/memory.h"

#include "base/clock.h"
#include "base/log.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* Each place that has changed is a row that is replaced, so many places are written less often. */
#define STORE_MS 5000
#define STORE_PLACE_MS 50

int memory_init(struct memory *memory)
{
    *memory = (struct memory){.seen = seen_new(source_audit)};
    (void)pthread_mutex_init(&memory->lock, NULL);
    return memory->seen != NULL ? 0 : -1;
}

void memory_free(struct memory *memory)
{
    seen_free(memory->seen);
}

static void recall(void *closure, const struct acknowledged *item)
{
    const struct seen_memory place = {
        .place = {item->sink, text_of(item->destination), item->partition},
        .identity = item->identity,
        .position = item->position,
        .first_ms = item->first_ms};

    seen_restore(closure, &place);
}

static void recall_began(void *closure, int64_t began_ms)
{
    seen_began(closure, began_ms);
}

int memory_recall(struct memory *memory, struct outbox *outbox, struct error *error)
{
    const struct memory_reader reader = {
        .on_acknowledged = recall, .on_began = recall_began, .closure = memory->seen};
    int status = 0;

    (void)pthread_mutex_lock(&memory->lock);
    if (!memory->is_read)
        status = outbox_read_acknowledged(outbox, &reader, error);
    memory->is_read = memory->is_read || status == 0;
    (void)pthread_mutex_unlock(&memory->lock);
    return status;
}

/* "SINK/DESTINATION", with the partition where there is one. */
static void name_place(char *out, size_t size, const char *sink, struct text destination,
                       int32_t partition)
{
    char number[16] = "";

    if (partition >= 0)
        (void)snprintf(number, sizeof number, "[%d]", (int)partition);
    (void)snprintf(out, size, "%s/%.*s%s", sink, (int)destination.len, destination.data, number);
}

static void pack_place(void *closure, const struct seen_memory *memory)
{
    const struct seen_place *place = &memory->place;
    char name[2 * SEEN_NAME_BYTES + 16];

    name_place(name, sizeof name, place->sink, place->destination, place->partition);
    (void)json_array_append_new(
        closure,
        json_pack("{s:s, s:s, s:s%, s:i, s:s, s:I, s:I}", "name", name, "sink", place->sink,
                  "destination", place->destination.data, place->destination.len, "partition",
                  (int)place->partition, "identity", memory->identity, "position",
                  (json_int_t)memory->position, "first_ms", (json_int_t)memory->first_ms));
}

static json_t *pack_since(int64_t since_ms)
{
    char text[40];

    if (since_ms <= 0 || clock_utc(text, since_ms, false)[0] == '\0')
        return json_null();
    return json_string(text);
}

static char *pack_loss(const struct seen_loss *loss)
{
    char name[2 * SEEN_NAME_BYTES + 16];
    char text[sizeof loss->destination + sizeof loss->text + 2];
    json_t *object;
    char *packed;

    name_place(name, sizeof name, loss->sink, text_of(loss->destination), SEEN_WHOLE);
    (void)snprintf(text, sizeof text, "%s%s%s", loss->destination,
                   loss->destination[0] != '\0' ? ": " : "", loss->text);
    object = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", name, "sink", loss->sink, "destination",
                       loss->destination, "text", text, "since", pack_since(loss->since_ms));
    packed = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return packed;
}

/* Writes and frees the text. A role that may not write goes on without. Returns 1 when it has to be
 * tried again. */
static int keep(struct memory *memory, struct watch *watch,
                int (*write)(struct watch *, const char *, struct error *), char *text,
                struct error *error)
{
    int status = text != NULL ? write(watch, text, error) : error_no_memory(error);

    free(text);
    if (status == 0 || !watch_is_connected(watch))
        return status;
    if (error->kind != ERROR_PERMANENT) { /* such as a deadlock with another relay's */
        memory->is_behind = true;
        return 1;
    }
    if (!memory->is_refused)
        log_event(LOG_WARN, LOG_FIELDS(.error = error->text, .hint = error->hint),
                  "what brokers have acknowledged cannot be kept in %s",
                  watch_control_table(watch));
    memory->is_refused = true;
    return 0;
}

static int keep_losses(struct memory *memory, struct watch *watch, struct error *error)
{
    enum { MAX = sizeof memory->losses / sizeof *memory->losses };

    if (memory->loss_at == memory->loss_count) {
        memory->loss_count = seen_take_losses(memory->seen, memory->losses, MAX);
        memory->loss_at = 0;
    }
    for (; memory->loss_at < memory->loss_count; memory->loss_at++) {
        int status = keep(memory, watch, watch_keep_loss,
                          pack_loss(&memory->losses[memory->loss_at]), error);

        if (status != 0)
            return status;
        memory->is_behind = true; /* the statement has deleted what the destination holds still */
    }
    return 0;
}

static int keep_places(struct memory *memory, struct watch *watch, struct error *error)
{
    json_t *places = json_array();
    bool is_behind = memory->is_behind;
    size_t count;
    int status = 0;

    seen_each(memory->seen, !is_behind, pack_place, places);
    count = json_array_size(places);
    memory->is_behind = true;
    if (count > 0)
        status =
            keep(memory, watch, watch_keep_acknowledged, json_dumps(places, JSON_COMPACT), error);
    memory->is_behind = status != 0;
    memory->store_at_ms = clock_now_ms() + STORE_MS + (int64_t)count * STORE_PLACE_MS;
    json_decref(places);
    return status < 0 ? -1 : 0;
}

int memory_store(struct memory *memory, struct watch *watch, bool now, struct error *error)
{
    if (keep_losses(memory, watch, error) < 0)
        return -1;
    if (!now && clock_left_ms(memory->store_at_ms) > 0)
        return 0;
    return keep_places(memory, watch, error);
}
