#include "route/template.h"
#include "unit/batch.h"

#include <string.h>

#define WHY_BYTES 160

static struct template template;
static char why[WHY_BYTES];
static size_t position;

/* Every column of its own, so that one taken for another shows. */
static struct message sample(void)
{
    return (struct message){.topic = text_of("order.created"),
                            .key = text_of("k1"),
                            .type = text_of("Order"),
                            .id = text_of("42"),
                            .event_id = text_of("e-7")};
}

static int setup(void **state)
{
    template = (struct template){0};
    return open_batch(state);
}

static int teardown(void **state)
{
    template_free(&template);
    return close_batch(state);
}

FIXTURE(setup, teardown)

static void parse(const char *source)
{
    template_free(&template);
    if (template_parse(&template, source, why, sizeof why, &position) != 0)
        fail_msg("\"%s\": %s at %zu", source, why, position);
}

static void assert_renders(const char *source, const struct message *message, struct text want)
{
    struct text out = {NULL, 0};

    parse(source);
    assert_int_equal(template_render(&template, message, &batch, &out), TEMPLATE_OK);
    if (!text_equal(out, want))
        fail_msg("\"%s\" gave \"%.*s\"", source, (int)out.len, out.data);
}

TEST(placeholders_stand_for_columns_and_the_rest_for_itself)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"orders", "orders"},
        {"{topic}", "order.created"},
        {"{key}", "k1"},
        {"{type}", "Order"},
        {"{id}", "42"},
        {"{event_id}", "e-7"},
        {"shop.{topic}", "shop.order.created"},
        {"{topic}.v1", "order.created.v1"},
        {"{type}{key}", "Orderk1"},
        {"a{id}b{event_id}c", "a42be-7c"},
        {"{key}{key}{key}", "k1k1k1"},
        {"$ % \\ \" %s %n", "$ % \\ \" %s %n"},
        {"gr\xC3\xBC\xC3\x9F.{id}", "gr\xC3\xBC\xC3\x9F.42"},
    };
    struct message message = sample();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_renders(cases[i][0], &message, text_of(cases[i][1]));
}

TEST(doubled_braces_are_the_braces_themselves)
{
    static const char *const cases[][2] = {
        {"{{", "{"},          {"}}", "}"},          {"{{}}", "{}"},       {"{{id}}", "{id}"},
        {"{{{id}}}", "{42}"}, {"{{{{", "{{"},       {"{id}}}", "42}"},    {"}}{id}", "}42"},
        {"{{{{{id}", "{{42"}, {"a{{b}}c", "a{b}c"}, {"}}}}{{{{", "}}{{"},
    };
    struct message message = sample();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_renders(cases[i][0], &message, text_of(cases[i][1]));
}

TEST(a_mistake_is_refused_with_its_position)
{
    static const struct {
        const char *source;
        size_t position;
    } cases[] = {
        {"{", 1},         {"}", 1},      {"{}", 1},          {"shop.{topi}", 6}, {"a{b", 2},
        {"ab}c", 3},      {"{topic", 1}, {"{topic}{key", 8}, {"{id}}", 5},       {"{{{id}}", 7},
        {"{ id }", 1},    {"{ID}", 1},   {"{idx}", 1},       {"{i}", 1},         {"{id{id}}", 1},
        {"{payload}", 1}, {"{{}", 3},    {"{key}{nope}", 6},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        why[0] = '\0';
        assert_int_equal(template_parse(&template, cases[i].source, why, sizeof why, &position),
                         -1);
        assert_true(strlen(why) > 0);
        if (position != cases[i].position)
            fail_msg("\"%s\": position %zu", cases[i].source, position);
    }
}

TEST(an_unknown_placeholder_is_named_beside_the_known_ones)
{
    char source[1024];

    assert_int_equal(template_parse(&template, "{tpoic}", why, sizeof why, &position), -1);
    assert_non_null(strstr(why, "{tpoic}"));
    assert_non_null(strstr(why, "{topic}"));
    assert_non_null(strstr(why, "{event_id}"));
    memset(source, 'x', sizeof source);
    source[0] = '{';
    source[sizeof source - 2] = '}';
    source[sizeof source - 1] = '\0';
    assert_int_equal(template_parse(&template, source, why, sizeof why, &position), -1);
    assert_non_null(strstr(why, "{event_id}"));
}

/* `count` parts: {id} and "." by turns. */
static void build(char *source, int count)
{
    source[0] = '\0';
    for (int i = 0; i < count; i++)
        memcpy(source + strlen(source), i % 2 == 0 ? "{id}" : ".", i % 2 == 0 ? 5 : 2);
}

TEST(a_template_has_at_most_16_parts)
{
    char source[256];
    struct message message = sample();

    build(source, TEMPLATE_PARTS_MAX);
    assert_renders(source, &message, text_of("42.42.42.42.42.42.42.42."));
    template_free(&template);
    build(source, TEMPLATE_PARTS_MAX + 1);
    assert_int_equal(template_parse(&template, source, why, sizeof why, &position), -1);
    assert_int_equal(position, strlen(source) - strlen("{id}") + 1);
    assert_int_equal(TEMPLATE_PARTS_MAX, 16);
}

TEST(a_null_column_cannot_be_rendered)
{
    static const char *const sources[] = {"{topic}",    "{key}",       "{type}",  "{id}",
                                          "{event_id}", "a.{topic}",   "{key}.b", "a{type}b",
                                          "{id}{id}",   "{{{event_id}"};
    struct message message = {0};
    struct text out;

    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        parse(sources[i]);
        assert_int_equal(template_render(&template, &message, &batch, &out), TEMPLATE_NULL_FIELD);
    }
}

TEST(binary_columns_are_rendered_byte_by_byte)
{
    struct message message = {.key = {"a\0b\xFF", 4}, .topic = {"\n", 1}};

    assert_renders("{key}", &message, (struct text){"a\0b\xFF", 4});
    assert_renders("<{key}{topic}>", &message, (struct text){"<a\0b\xFF\n>", 7});
}

TEST(what_a_column_holds_is_not_a_template_itself)
{
    struct message message = {.key = text_of("{topic}}}%s"), .topic = text_of("t")};

    assert_renders("{key}.{topic}", &message, text_of("{topic}}}%s.t"));
}

TEST(a_template_without_placeholders_is_constant)
{
    static const struct {
        const char *source;
        bool constant;
    } cases[] = {
        {"", true},          {"orders", true},  {"{{topic}}", true}, {"{topic}", false},
        {"a{topic}", false}, {"{key}b", false}, {"{id}{id}", false}, {"}}", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        parse(cases[i].source);
        assert_int_equal(template_is_constant(&template), cases[i].constant);
    }
}
