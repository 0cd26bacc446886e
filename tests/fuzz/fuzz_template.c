#include "route/template.h"
#include "fuzz.h"

/*
 * Input: the template, then the columns. A template that parses renders within bounds, a mistake
 * has a place and a reason, and any text with its braces doubled stands for itself.
 */

#define WHY_BYTES 160

static struct batch batch;

static size_t longest_column(const struct message *message)
{
    const struct text columns[] = {message->topic, message->key, message->type, message->id,
                                   message->event_id};
    size_t longest = 0;

    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if (columns[i].len > longest)
            longest = columns[i].len;
    return longest;
}

static bool has_null(const struct message *message)
{
    return message->topic.data == NULL || message->key.data == NULL || message->type.data == NULL ||
           message->id.data == NULL || message->event_id.data == NULL;
}

static void check_rendering(const struct template *template, const struct message *message)
{
    static const struct message nulls;
    struct text out = {NULL, 0};
    enum template_result result = template_render(template, message, &batch, &out);

    EXPECT(result != TEMPLATE_NO_MEMORY);
    EXPECT(result != TEMPLATE_NULL_FIELD || has_null(message));
    if (result == TEMPLATE_OK) {
        EXPECT(out.data != NULL);
        EXPECT(out.len <= strlen(template->source) + TEMPLATE_PARTS_MAX * longest_column(message));
        EXPECT(text_equal(out, batch_copy(&batch, out.data, out.len)));
    }
    result = template_render(template, &nulls, &batch, &out);
    EXPECT((result == TEMPLATE_OK) == template_is_constant(template));
}

static void check_template(const char *source, const struct message *message)
{
    struct template template;
    char why[WHY_BYTES];
    size_t position = 12345;

    memset(why, '#', sizeof why);
    if (template_parse(&template, source, why, sizeof why, &position) == 0) {
        EXPECT(template.count >= 0 && template.count <= TEMPLATE_PARTS_MAX);
        EXPECT(strcmp(template.source, source) == 0);
        check_rendering(&template, message);
        template_free(&template);
    } else {
        EXPECT(position >= 1 && position <= strlen(source) + 1);
        EXPECT(memchr(why, '\0', sizeof why) != NULL && why[0] != '\0');
    }
}

static void check_doubled_braces(const char *source)
{
    char *doubled = malloc(strlen(source) * 2 + 1);
    char *at = doubled;
    struct template template;
    char why[WHY_BYTES];
    size_t position;
    struct text out;

    EXPECT(doubled != NULL);
    for (const char *from = source; *from != '\0'; from++) {
        *at++ = *from;
        if (*from == '{' || *from == '}')
            *at++ = *from;
    }
    *at = '\0';
    EXPECT(template_parse(&template, doubled, why, sizeof why, &position) == 0);
    EXPECT(template_is_constant(&template));
    EXPECT(template_render(&template, &(struct message){0}, &batch, &out) == TEMPLATE_OK);
    EXPECT(text_equal(out, text_of(source)));
    template_free(&template);
    free(doubled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {(const char *)data, size};
    char *source = fuzz_string(input_take(&input));
    struct message message = {0};

    if (batch.capacity == 0)
        EXPECT(batch_init(&batch, 1) == 0);
    message.topic = input_take(&input);
    message.key = input_take(&input);
    message.type = input_take(&input);
    message.id = input_take(&input);
    message.event_id = input_take(&input);
    check_template(source, &message);
    check_doubled_braces(source);
    batch_reset(&batch);
    free(source);
    return 0;
}
