#include "broker/nats/nats.h"
#include "unit/broker/fixture.h"

/* All headers as one name. No server is needed. */

static char strings[1024];
static struct header headers[2];
static struct message message;
static natsMsg *built;

static int setup(void **state)
{
    (void)state;
    message = (struct message){.event_id = text_of("e-1"), .headers = headers};
    return natsMsg_Create(&built, "a.b", NULL, NULL, 0) == NATS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    natsMsg_Destroy(built);
    return 0;
}

FIXTURE(setup, teardown)

static int open_library(void **state)
{
    (void)state;
    return nats_Open(0) == NATS_OK ? 0 : -1;
}

static int close_library(void **state)
{
    (void)state;
    return nats_CloseAndWait(5000) == NATS_OK ? 0 : -1;
}

ONCE(open_library, close_library)

static int count_keys(const char **first)
{
    const char **names = NULL;
    int count = 0;

    if (natsMsgHeader_Keys(built, &names, &count) != NATS_OK)
        return 0;
    *first = names[0];
    free((void *)names);
    return count;
}

static void expect_block(const char *name)
{
    struct header own[NATS_OWN_HEADERS];
    const char *found = "";
    const char *value = NULL;

    nats_own_headers(&message, "EVENTS", own);
    assert_int_equal(nats_set_block(built, &message, own, strings), NATS_OK);
    assert_int_equal(count_keys(&found), 1);
    assert_string_equal(found, name);
    assert_int_equal(natsMsgHeader_Get(built, name, &value), NATS_OK);
    assert_string_equal(value, "EVENTS");
}

TEST(one_header_whose_value_is_the_rest_carries_all_headers)
{
    message.type = text_of("created");
    message.created_at = text_of("2026-01-02T03:04:05Z");
    message.route_key = text_of("k");
    headers[0] = (struct header){text_of("trace"), text_of("b\xC3\xBC")};
    headers[1] = (struct header){text_of("x.y"), text_of("0")};
    message.header_count = 2;
    expect_block("id: e-1\r\ntype: created\r\ncreated_at: 2026-01-02T03:04:05Z\r\nkey: k\r\n"
                 "Nats-Msg-Id: e-1\r\ntrace: b\xC3\xBC\r\nx.y: 0\r\nNats-Expected-Stream");
}

TEST(a_null_makes_no_header_and_an_empty_value_makes_one)
{
    message.event_id = (struct text){NULL, 0};
    expect_block("Nats-Expected-Stream");
    nats_drop_block(built, strings);
    message.route_key = text_of("");
    headers[0] = (struct header){text_of("none"), {NULL, 0}};
    headers[1] = (struct header){text_of("empty"), text_of("")};
    message.header_count = 2;
    expect_block("key: \r\nempty: \r\nNats-Expected-Stream");
}

TEST(headers_can_be_removed_however_they_were_set)
{
    struct header own[NATS_OWN_HEADERS];
    const char *first;

    expect_block("id: e-1\r\nNats-Msg-Id: e-1\r\nNats-Expected-Stream");
    nats_drop_block(built, strings);
    assert_int_equal(count_keys(&first), 0);
    nats_own_headers(&message, "EVENTS", own);
    assert_int_equal(nats_set_headers(built, &message, own, strings), NATS_OK);
    assert_int_equal(count_keys(&first), 3);
    nats_drop_headers(built, own);
    assert_int_equal(count_keys(&first), 0);
}
