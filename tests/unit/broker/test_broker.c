#include "broker/broker.h"
#include "unit/broker/fixture.h"

static struct error error;

static void each_type_finds_its_client(void **state)
{
    (void)state;
    assert_string_equal(broker_ops_find("kafka")->type, "kafka");
    assert_string_equal(broker_ops_find("nats")->type, "nats");
    assert_string_equal(broker_ops_find("stdout")->type, "stdout");
    assert_null(broker_ops_find("rabbitmq"));
    assert_null(broker_ops_find(NULL));
}

static void an_unknown_type_names_the_known_ones(void **state)
{
    struct sink_options options = sink_of_type("rabbitmq");

    (void)state;
    assert_null(broker_open(&options, &error));
    assert_says(&error, "\"kafka\", \"nats\", \"stdout\"");
    broker_close(NULL);
}

static void without_an_allow_list_every_destination_is_allowed(void **state)
{
    struct sink_options options = sink_of_type("stdout");

    (void)state;
    assert_true(sink_allows(&options, text_of("shop.order")));
}

static void an_allow_list_takes_what_one_of_its_patterns_takes(void **state)
{
    struct sink_options options = sink_of_type("stdout");

    (void)state;
    allow(&options, "shop.>");
    allow(&options, "audit");
    assert_true(sink_allows(&options, text_of("shop.order")));
    assert_true(sink_allows(&options, text_of("audit")));
    assert_false(sink_allows(&options, text_of("shop")));
    assert_false(sink_allows(&options, text_of("other.order")));
    allow_nothing_more(&options);
}

static void patterns_are_distinguished_from_plain_names(void **state)
{
    (void)state;
    assert_true(sink_pattern("shop.>"));
    assert_true(sink_pattern("shop.*.new"));
    assert_true(sink_pattern("re:^shop"));
    assert_false(sink_pattern("shop.order"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_finds_its_client),
        cmocka_unit_test(an_unknown_type_names_the_known_ones),
        cmocka_unit_test(without_an_allow_list_every_destination_is_allowed),
        cmocka_unit_test(an_allow_list_takes_what_one_of_its_patterns_takes),
        cmocka_unit_test(patterns_are_distinguished_from_plain_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
