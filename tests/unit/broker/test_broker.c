#include "broker/broker.h"
#include "unit/broker/fixture.h"

static struct error error;

TEST(each_type_finds_its_client)
{
    assert_string_equal(broker_ops_find("kafka")->type, "kafka");
    assert_string_equal(broker_ops_find("nats")->type, "nats");
    assert_string_equal(broker_ops_find("stdout")->type, "stdout");
    assert_null(broker_ops_find("rabbitmq"));
    assert_null(broker_ops_find(NULL));
}

TEST(an_unknown_type_names_the_known_ones)
{
    struct sink_options options = sink_of_type("rabbitmq");

    assert_null(broker_open(&options, &error));
    assert_says(&error, "\"kafka\", \"nats\", \"stdout\"");
    broker_close(NULL);
}

TEST(without_an_allow_list_every_destination_is_allowed)
{
    struct sink_options options = sink_of_type("stdout");

    assert_true(sink_allows(&options, text_of("shop.order")));
}

TEST(an_allow_list_takes_what_one_of_its_patterns_takes)
{
    struct sink_options options = sink_of_type("stdout");

    allow(&options, "shop.>");
    allow(&options, "audit");
    assert_true(sink_allows(&options, text_of("shop.order")));
    assert_true(sink_allows(&options, text_of("audit")));
    assert_false(sink_allows(&options, text_of("shop")));
    assert_false(sink_allows(&options, text_of("other.order")));
    allow_nothing_more(&options);
}

TEST(patterns_are_distinguished_from_plain_names)
{
    assert_true(sink_pattern("shop.>"));
    assert_true(sink_pattern("shop.*.new"));
    assert_true(sink_pattern("re:^shop"));
    assert_false(sink_pattern("shop.order"));
}
