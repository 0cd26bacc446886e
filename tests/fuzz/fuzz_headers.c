#include "fuzz.h"
#include "outbox/row.h"

#include <jansson.h>

/*
 * Input: the bytes of the column "headers". Headers that are taken have distinct names and valid
 * UTF-8, and written as a JSON object of strings they are taken again, the same. A flat object of
 * strings is never refused.
 */

static struct batch batch;

static void check_header(const struct message *message, int index)
{
    const struct header *header = &message->headers[index];

    EXPECT(header->name.data != NULL);
    EXPECT(text_is_utf8(header->name.data, header->name.len));
    EXPECT(text_is_utf8(header->value.data, header->value.len));
    EXPECT(header->name.data[header->name.len] == '\0');
    EXPECT(header->value.data == NULL || header->value.data[header->value.len] == '\0');
    for (int other = 0; other < index; other++)
        EXPECT(!text_equal(message->headers[other].name, header->name));
}

static char *write_object(const struct message *message)
{
    json_t *object = json_object();
    char *text;

    for (int i = 0; i < message->header_count; i++) {
        struct text value = message->headers[i].value;

        EXPECT(json_object_set_new(object, message->headers[i].name.data,
                                   value.data != NULL ? json_stringn(value.data, value.len)
                                                      : json_null()) == 0);
    }
    text = json_dumps(object, JSON_COMPACT);
    EXPECT(text != NULL);
    json_decref(object);
    return text;
}

static void check_same(const struct message *a, const struct message *b)
{
    EXPECT(a->header_count == b->header_count);
    for (int i = 0; i < a->header_count; i++) {
        bool found = false;

        for (int j = 0; j < b->header_count; j++)
            found = found || (text_equal(a->headers[i].name, b->headers[j].name) &&
                              text_equal(a->headers[i].value, b->headers[j].value));
        EXPECT(found);
    }
}

static void check_taken(const struct message *message)
{
    struct message again = {0};
    char *object;

    EXPECT(message->header_count >= 0);
    for (int i = 0; i < message->header_count; i++)
        check_header(message, i);
    object = write_object(message);
    EXPECT(row_headers(&again, text_of(object), &batch) == NULL);
    check_same(message, &again);
    free(object);
}

/* Whether the JSON library, asked plainly, sees an object of scalars (or null). */
static bool is_flat(struct text json)
{
    json_t *root = json_loadb(json.data, json.len,
                              JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    bool flat = json_is_object(root) || json_is_null(root);
    const char *name;
    json_t *value;

    json_object_foreach (root, name, value)
        flat = flat && !json_is_object(value) && !json_is_array(value);
    json_decref(root);
    return flat;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text json = {fuzz_bytes((struct text){(const char *)data, size}), size};
    struct message message = {0};
    const char *problem;

    if (batch.capacity == 0)
        EXPECT(batch_init(&batch, 1) == 0);
    problem = row_headers(&message, json, &batch);
    EXPECT((problem == NULL) == is_flat(json));
    if (problem == NULL) {
        check_taken(&message);
    } else {
        EXPECT(problem[0] != '\0');
        EXPECT(message.headers == NULL && message.header_count == 0);
    }
    batch_reset(&batch);
    free((char *)json.data);
    return 0;
}
