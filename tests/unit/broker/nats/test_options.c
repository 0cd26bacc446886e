#include "broker/broker.h"
#include "unit/broker/fixture.h"

static struct error error;

static struct sink_options nats_sink(void)
{
    struct sink_options options = sink_of_type("nats");

    options.servers = (struct text_list){.items = {"nats://127.0.0.1:1"}, .count = 1};
    options.stream = "EVENTS";
    return options;
}

static int check(const struct sink_options *options)
{
    error = (struct error){0};
    return broker_ops_find("nats")->check_options(options, NULL, 0, &error);
}

TEST(a_stream_name_that_would_be_another_subject_is_refused)
{
    static char *const names[] = {"", "a.b", "a b", "*", ">", "a\r\nPING", "a/b", "a\\b", NULL};

    for (int i = 0; names[i] != NULL; i++) {
        struct sink_options options = nats_sink();

        options.stream = names[i];
        assert_int_equal(check(&options), -1);
        assert_says(&error, "stream");
    }
}

TEST(a_stream_name_that_hides_a_header_from_the_server_is_refused)
{
    struct sink_options options = nats_sink();

    options.stream = "x-Nats-Msg-Id";
    assert_int_equal(check(&options), -1);
    assert_says(&error, "[sink.events] stream: invalid header value: it contains the name");
}
