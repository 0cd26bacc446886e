#include "catalog/columns.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS_MAX 8

/* A column as the catalog describes it: "name type", and what else counts. */
struct given {
    const char *name;
    const char *type;
    char category;
    bool unique;
    bool has_default;
    bool may_be_null;
};

#define PK                                                                                         \
    {                                                                                              \
        "event_no", "bigint", 'N', true, true, false                                               \
    }

static void describe(struct table_column *column, const struct given *given)
{
    *column = (struct table_column){.unique = given->unique,
                                    .not_null = !given->may_be_null,
                                    .has_default = given->has_default,
                                    .category = given->category};
    (void)snprintf(column->name, sizeof column->name, "%s", given->name);
    (void)snprintf(column->type, sizeof column->type, "%s", given->type);
    (void)snprintf(column->base, sizeof column->base, "%s", given->type);
}

/* The offer for this meaning, of a table that has these columns; "": none. Whatever is called as
 * the default table calls it is mapped. */
static const char *offered(enum column column, const struct given *given, int count)
{
    static struct table table;
    struct table_column columns[COLUMNS_MAX];
    const struct outbox_options options = {.on_sent = ON_SENT_MARK};

    table = (struct table){0};
    for (int i = 0; i < count; i++)
        describe(&columns[i], &given[i]);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        (void)snprintf(table.columns[i].name, sizeof table.columns[i].name, "%s",
                       column_name((enum column)i));
        for (int k = 0; k < count; k++)
            if (strcmp(columns[k].name, column_name((enum column)i)) == 0)
                table.columns[i] = columns[k];
    }
    offers_find(&table, columns, count, &options);
    return table.columns[column].offer;
}

static void assert_offered(enum column column, struct given given, const char *expected)
{
    const struct given columns[] = {given, {"other", "text", 'S', false, false, false}};
    const char *offer = offered(column, columns, 2);

    if (strcmp(offer, expected) != 0)
        fail_msg("%s: \"%s\" was offered, not \"%s\"", column_name(column), offer, expected);
}

TEST(another_spelling_and_another_word_are_offered)
{
    static const struct {
        enum column column;
        struct given given;
    } cases[] = {
        {COLUMN_ID, {"ID", "bigint", 'N', true, true, false}},
        {COLUMN_ID, {"event_no", "bigint", 'N', true, true, false}},
        {COLUMN_ID, {"EventSeq", "integer", 'N', true, true, false}},
        {COLUMN_ID, {"outbox_id", "smallint", 'N', true, true, false}},
        {COLUMN_EVENT_ID, {"eventId", "uuid", 'U', false, true, false}},
        {COLUMN_EVENT_ID, {"uid", "uuid", 'U', false, false, false}},
        {COLUMN_EVENT_ID, {"message_id", "text", 'S', true, false, false}},
        {COLUMN_TOPIC, {"Topic", "text", 'S', false, false, false}},
        {COLUMN_TOPIC, {"topics", "text", 'S', false, false, false}},
        {COLUMN_TOPIC, {"subject", "character varying(255)", 'S', false, false, false}},
        {COLUMN_TOPIC, {"aggregate-type", "text", 'S', false, false, false}},
        {COLUMN_TOPIC, {"kafka_topic", "text", 'S', false, false, false}},
        {COLUMN_KEY, {"message_key", "text", 'S', false, false, true}},
        {COLUMN_KEY, {"AggregateId", "uuid", 'U', false, false, true}},
        {COLUMN_PAYLOAD, {"body", "text", 'S', false, false, true}},
        {COLUMN_PAYLOAD, {"data", "jsonb", 'U', false, false, true}},
        {COLUMN_PAYLOAD, {"event body", "bytea", 'U', false, false, true}},
        {COLUMN_PAYLOAD, {"PAYLOAD", "json", 'U', false, false, true}},
        {COLUMN_CREATED_AT, {"createdAt", "timestamp with time zone", 'D', false, true, false}},
        {COLUMN_CREATED_AT,
         {"occurred_on", "timestamp without time zone", 'D', false, false, true}},
        {COLUMN_SENT_AT, {"published_at", "timestamp with time zone", 'D', false, false, true}},
        {COLUMN_HEADERS, {"metadata", "jsonb", 'U', false, false, true}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_offered(cases[i].column, cases[i].given, cases[i].given.name);
}

TEST(what_does_not_fit_is_not_offered)
{
    static const struct {
        enum column column;
        struct given given;
    } cases[] = {
        {COLUMN_ID, {"customer_id", "bigint", 'N', false, false, false}}, /* a foreign key */
        {COLUMN_ID, {"event_no", "bigint", 'N', true, true, true}},       /* may be NULL */
        {COLUMN_ID, {"ID", "text", 'S', true, false, false}},
        {COLUMN_EVENT_ID, {"customer_uuid", "uuid", 'U', false, false, false}},
        {COLUMN_TOPIC, {"Topic", "integer", 'N', false, false, false}},
        {COLUMN_TOPIC, {"note", "text", 'S', false, false, false}},
        {COLUMN_PAYLOAD, {"data", "bigint", 'N', false, false, false}},
        {COLUMN_SENT_AT, {"published_at", "timestamp with time zone", 'D', false, true, false}},
        {COLUMN_TYPE, {"name", "text", 'S', false, false, false}}, /* the relay needs no type */
        {COLUMN_KEY, {"foreign_key", "text", 'S', false, false, false}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_offered(cases[i].column, cases[i].given, "");
}

TEST(the_only_column_of_a_type_is_offered)
{
    static const struct given one[] = {{"n", "bigint", 'N', true, true, false},
                                       {"stuff", "jsonb", 'U', false, false, true},
                                       {"ref", "uuid", 'U', true, false, false}};
    static const struct given two[] = {{"one", "jsonb", 'U', false, false, true},
                                       {"two", "jsonb", 'U', false, false, true}};

    assert_string_equal(offered(COLUMN_ID, one, 3), "n");
    assert_string_equal(offered(COLUMN_PAYLOAD, one, 3), "stuff");
    assert_string_equal(offered(COLUMN_EVENT_ID, one, 3), "ref");
    assert_string_equal(offered(COLUMN_PAYLOAD, two, 2), "");
}

TEST(a_column_is_offered_once_and_to_what_it_fits_best)
{
    static const struct given columns[] = {PK,
                                           {"metadata", "jsonb", 'U', false, false, true},
                                           {"content", "jsonb", 'U', false, false, true},
                                           {"payload_type", "text", 'S', false, false, true}};
    static const struct given mapped[] = {PK,
                                          {"payload", "jsonb", 'U', false, false, true},
                                          {"body", "text", 'S', false, false, true}};

    assert_string_equal(offered(COLUMN_PAYLOAD, columns, 4), "content");
    assert_string_equal(offered(COLUMN_HEADERS, columns, 4), "metadata");
    assert_string_equal(offered(COLUMN_TYPE, columns, 4), "");
    assert_string_equal(offered(COLUMN_PAYLOAD, mapped, 3), "");
}

/* A uuid as the id: another column gives the order, and the uuid is what consumers know. */
TEST(a_uuid_named_id_is_the_event_id_beside_a_column_that_grows)
{
    static const struct given columns[] = {{"id", "uuid", 'U', true, true, false},
                                           {"seq", "bigint", 'N', true, true, false}};

    assert_string_equal(offered(COLUMN_ID, columns, 2), "seq");
    assert_string_equal(offered(COLUMN_EVENT_ID, columns, 2), "id");
}
