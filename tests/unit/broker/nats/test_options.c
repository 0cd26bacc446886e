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

TEST(a_plain_sink_is_accepted)
{
    struct sink_options options = nats_sink();

    assert_int_equal(check(&options), 0);
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

TEST(the_largest_payload_is_a_servers_default_before_one_is_known)
{
    struct sink_options options = nats_sink();
    struct broker *broker = broker_open(&options, &error);

    assert_non_null(broker);
    assert_in_range(broker_payload_max(broker), 1024 * 1024 - 64, 1024 * 1024);
    broker_close(broker);
}

TEST(an_unreachable_server_is_reported_at_once)
{
    struct sink_options options = nats_sink();
    struct broker *broker = broker_open(&options, &error);
    int64_t started_ms = clock_now_ms();

    assert_non_null(broker);
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_int_equal(error.kind, ERROR_TRANSIENT);
    assert_int_equal(error.origin, ERROR_BROKER);
    assert_says(&error, "nats at nats://127.0.0.1:1");
    assert_true(clock_now_ms() - started_ms < 5000);
    broker_close(broker);
}

TEST(a_broker_that_never_was_ready_leaves_messages_pending)
{
    struct sink_options options = nats_sink();

    expect_pending_without_ready(&options);
}

static void assert_refused_at_the_start(struct sink_options *options, const char *text)
{
    struct broker *broker = broker_open(options, &error);

    assert_non_null(broker);
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_says(&error, text);
    assert_int_equal(error.kind, ERROR_PERMANENT);
    assert_int_equal(error.origin, ERROR_CONFIG);
    broker_close(broker);
}

TEST(a_secret_that_cannot_be_read_names_its_sink_its_key_and_its_file)
{
    struct sink_options by_password = nats_sink();
    struct sink_options by_token = nats_sink();
    struct sink_options by_credentials = nats_sink();
    struct sink_options by_nkey = nats_sink();

    by_password.username = "u";
    by_password.password_file = "/nowhere/at/all";
    assert_refused_at_the_start(&by_password,
                                "[sink.events] password_file: /nowhere/at/all: No such file");
    by_token.token_file = "/nowhere/at/all";
    assert_refused_at_the_start(&by_token,
                                "[sink.events] token_file: /nowhere/at/all: No such file");
    by_credentials.credentials_file = "/nowhere/at/all";
    assert_refused_at_the_start(&by_credentials,
                                "[sink.events] credentials_file: /nowhere/at/all: No such file");
    by_nkey.nkey = "U";
    by_nkey.nkey_file = "/nowhere/at/all";
    assert_refused_at_the_start(&by_nkey, "[sink.events] nkey_file: /nowhere/at/all: No such file");
}
