#include "message/remedy.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void assert_table(const char *outbox, bool stays, const char *table)
{
    const struct remedy_names names = {.outbox = outbox, .id = text_of("7"), .stays = stays};
    char buffer[REMEDY_BYTES];
    char expected[REMEDY_BYTES];

    (void)snprintf(expected, sizeof expected,
                   "correct the row in %s: its event_id must not be empty; then outbox-relay dead"
                   " retry 7",
                   table);
    assert_string_equal(remedy_write(buffer, sizeof buffer, "event_id is empty", &names), expected);
}

TEST(a_remedy_names_the_table_as_sql_has_to_have_it)
{
    assert_table("outbox", false, "outbox_parked");
    assert_table("public.outbox", true, "public.outbox");
    assert_table("shop.outbox", false, "shop.outbox_parked");
    assert_table("Outbox", false, "\"Outbox_parked\"");
    assert_table("Shop.Outbox", false, "\"Shop\".\"Outbox_parked\"");
    assert_table("\"tenant.42\".\"Outbox Messages\"", false,
                 "\"tenant.42\".\"Outbox Messages_parked\"");
    assert_table("\"tenant.42\".outbox", true, "\"tenant.42\".outbox");
}

TEST(a_remedy_names_no_id_that_a_shell_would_take_for_something_else)
{
    const struct remedy_names names = {.outbox = "outbox", .id = text_of("7; rm")};
    char buffer[REMEDY_BYTES];

    assert_non_null(strstr(remedy_write(buffer, sizeof buffer, "event_id is empty", &names),
                           "then outbox-relay dead retry ID"));
}
