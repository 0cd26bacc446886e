#include "catalog/columns.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static const struct outbox_options mark = {.on_sent = ON_SENT_MARK, .order = ORDER_NONE};
static const struct outbox_options delete = {.on_sent = ON_SENT_DELETE, .order = ORDER_NONE};
static const struct outbox_options by_key = {.on_sent = ON_SENT_MARK, .order = ORDER_KEY};

/* As PostgreSQL describes it: the type, and its category. */
static bool fits(const struct outbox_options *options, enum column column, const char *type,
                 char category)
{
    struct table_column described = {.category = category};

    (void)snprintf(described.base, sizeof described.base, "%s", type);
    return column_wanted(column, &described, options) == NULL;
}

TEST(other_types_that_can_be_sent_fit)
{
    assert_true(fits(&mark, COLUMN_ID, "uuid", 'U'));
    assert_true(fits(&mark, COLUMN_EVENT_ID, "bigint", 'N'));
    assert_true(fits(&mark, COLUMN_TOPIC, "character varying(255)", 'S'));
    assert_true(fits(&mark, COLUMN_TOPIC, "public.topic", 'E'));
    assert_true(fits(&mark, COLUMN_KEY, "bytea", 'U'));
    assert_true(fits(&mark, COLUMN_KEY, "integer", 'N'));
    assert_true(fits(&mark, COLUMN_TYPE, "integer", 'N'));
    assert_true(fits(&mark, COLUMN_PAYLOAD, "bytea", 'U'));
    assert_true(fits(&mark, COLUMN_PAYLOAD, "public.citext", 'S'));
    assert_true(fits(&mark, COLUMN_HEADERS, "text", 'S'));
    assert_true(fits(&mark, COLUMN_CREATED_AT, "date", 'D'));
    assert_true(fits(&mark, COLUMN_SENT_AT, "timestamp without time zone", 'D'));
}

TEST(types_that_cannot_be_sent_do_not_fit)
{
    assert_false(fits(&mark, COLUMN_ID, "jsonb", 'U'));
    assert_false(fits(&mark, COLUMN_ID, "boolean", 'B'));
    assert_false(fits(&mark, COLUMN_EVENT_ID, "uuid[]", 'A'));
    assert_false(fits(&mark, COLUMN_TOPIC, "integer", 'N'));
    assert_false(fits(&mark, COLUMN_TOPIC, "text[]", 'A'));
    assert_false(fits(&mark, COLUMN_KEY, "text[]", 'A'));
    assert_false(fits(&mark, COLUMN_KEY, "json", 'U')); /* as it is spelt */
    assert_true(fits(&mark, COLUMN_KEY, "jsonb", 'U'));
    assert_false(fits(&mark, COLUMN_TYPE, "jsonb", 'U'));
    assert_false(fits(&mark, COLUMN_PAYLOAD, "integer", 'N'));
    assert_false(fits(&mark, COLUMN_HEADERS, "text[]", 'A'));
    assert_false(fits(&mark, COLUMN_HEADERS, "bytea", 'U'));
    assert_false(fits(&mark, COLUMN_CREATED_AT, "bigint", 'N'));
    assert_false(fits(&mark, COLUMN_CREATED_AT, "time without time zone", 'D'));
    assert_false(fits(&mark, COLUMN_SENT_AT, "date", 'D'));
    assert_false(fits(&mark, COLUMN_SENT_AT, "boolean", 'B'));
}

TEST(a_type_that_fits_only_in_some_modes_says_which)
{
    struct table_column uuid = {.base = "uuid", .category = 'U'};
    struct table_column json = {.base = "json", .category = 'U'};
    struct table_column date = {.base = "date", .category = 'D'};

    assert_true(fits(&delete, COLUMN_SENT_AT, "date", 'D'));
    assert_non_null(strstr(column_wanted(COLUMN_SENT_AT, &date, &mark), "on_sent = \"mark\""));
    assert_null(column_wanted(COLUMN_ID, &uuid, &mark));
    assert_null(column_wanted(COLUMN_ID, &uuid, &by_key)); /* slices_check_columns() refuses it */
    assert_non_null(strstr(column_wanted(COLUMN_ID, &json, &mark), "order = \"none\""));
}
