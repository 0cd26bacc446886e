#include "broker/broker.h"
#include "broker/kafka/kafka.h"
#include "unit/broker/fixture.h"

/* Without a network and without librdkafka's threads, so that ThreadSanitizer can run it. */

static struct error error;
static char warning[256];

static struct sink_options kafka_sink(void)
{
    struct sink_options options = sink_of_type("kafka");

    options.brokers = (struct text_list){.items = {"localhost:1", "localhost:2"}, .count = 2};
    return options;
}

static int check(const struct sink_options *options)
{
    error = (struct error){0};
    warning[0] = '\0';
    return broker_ops_find("kafka")->check_options(options, warning, sizeof warning, &error);
}

static void assert_refused_property(char *name, char *value, const char *why)
{
    struct sink_options options = kafka_sink();

    set_property(&options, name, value);
    assert_int_equal(check(&options), -1);
    assert_int_equal(error.kind, ERROR_PERMANENT);
    assert_int_equal(error.origin, ERROR_CONFIG);
    assert_says(&error, "[sink.events.properties]");
    assert_says(&error, name);
    assert_says(&error, why);
}

static void assert_accepted(char *name, char *value)
{
    struct sink_options options = kafka_sink();

    set_property(&options, name, value);
    if (check(&options) < 0)
        fail_msg("%s", error.text);
}

static int64_t effective(const struct sink_options *options, const char *name)
{
    rd_kafka_conf_t *conf = kafka_conf_new(options, false, &error);
    int64_t value;

    assert_non_null(conf);
    value = kafka_conf_number(conf, name);
    rd_kafka_conf_destroy(conf);
    return value;
}

/* librdkafka's ten and thirty seconds would outlast one too. */
TEST(a_connection_that_meets_silence_is_given_up_soon_unless_the_cluster_is_slow)
{
    static char name[] = "api.version.request.timeout.ms";
    static const int64_t after[] = {3000, 6000, 10000, 10000};
    struct sink_options options = kafka_sink();
    rd_kafka_conf_t *conf;

    assert_int_equal(effective(&options, "socket.connection.setup.timeout.ms"), 10000);
    for (int silent_clients = 0; silent_clients < 4; silent_clients++) {
        conf = kafka_conf_new(&options, false, &error);
        assert_int_equal(kafka_conf_raise_timeout(conf, silent_clients, &error), 0);
        assert_int_equal(kafka_conf_number(conf, name), after[silent_clients]);
        rd_kafka_conf_destroy(conf);
    }
    set_property(&options, name, "20000");
    conf = kafka_conf_new(&options, false, &error);
    assert_int_equal(kafka_conf_raise_timeout(conf, 5, &error), 0);
    assert_int_equal(kafka_conf_number(conf, name), 20000);
    rd_kafka_conf_destroy(conf);
}

TEST(weaker_acknowledgements_are_refused_under_each_name)
{
    assert_refused_property("acks", "1", "contradicts");
    assert_refused_property("acks", "0", "contradicts");
    assert_refused_property("request.required.acks", "1", "contradicts");
    assert_accepted("acks", "all");
    assert_accepted("request.required.acks", "-1");
}

TEST(what_lets_a_broker_take_a_new_message_for_a_repeat_is_refused)
{
    assert_refused_property("enable.idempotence", "true", "contradicts");
    assert_accepted("enable.idempotence", "false");
}

TEST(what_ends_tries_or_lets_them_overtake_each_other_is_refused)
{
    assert_refused_property("max.in.flight", "6", "at most 5");
    assert_refused_property("max.in.flight.requests.per.connection", "1000", "at most 5");
    assert_refused_property("retries", "0", "at least 1");
    assert_refused_property("message.send.max.retries", "0", "at least 1");
    assert_refused_property("enable.gapless.guarantee", "true", "contradicts");
    assert_accepted("max.in.flight", "1");
}

TEST(a_message_timeout_within_two_publish_timeouts_is_refused)
{
    assert_refused_property("message.timeout.ms", "19999", "at least 20000");
    assert_refused_property("delivery.timeout.ms", "5000", "at least 20000");
    assert_refused_property("message.timeout.ms", "0", "at least 20000");
    assert_accepted("message.timeout.ms", "20000");
}

TEST(what_hides_delivery_reports_is_refused)
{
    assert_refused_property("delivery.report.only.error", "true", "contradicts");
    assert_refused_property("dr_msg_cb", "x", "");
    assert_refused_property("transactional.id", "x", "contradicts");
    assert_refused_property("linger.ms", "10000", "at most 9999");
    assert_accepted("linger.ms", "100");
}

TEST(a_mock_that_would_acknowledge_is_refused)
{
    assert_refused_property("test.mock.num.brokers", "1", "contradicts");
    assert_accepted("test.mock.num.brokers", "0");
}

TEST(a_partitioner_that_scatters_keys_is_refused_with_order_key)
{
    static char *const by_key[] = {"murmur2", "consistent_random", "fnv1a_random"};
    struct sink_options options = kafka_sink();

    assert_accepted("partitioner", "random");
    options.keep_order = true;
    set_property(&options, "partitioner", "random");
    assert_int_equal(check(&options), -1);
    assert_int_equal(error.origin, ERROR_CONFIG);
    assert_says(&error, "[sink.events.properties] \"partitioner\"");
    assert_says(&error, "use \"murmur2_random\"");
    for (size_t i = 0; i < sizeof by_key / sizeof *by_key; i++) {
        options.properties[0].value = by_key[i];
        assert_int_equal(check(&options), 0);
    }
}

TEST(a_queue_holds_the_largest_message)
{
    struct sink_options options = kafka_sink();

    assert_refused_property("queue.buffering.max.kbytes", "976", "at least 977");
    assert_accepted("queue.buffering.max.kbytes", "977");
    set_property(&options, "queue.buffering.max.kbytes", "4");
    set_property(&options, "message.max.bytes", "4096");
    assert_int_equal(check(&options), 0);
    options.properties[1].value = "4097";
    assert_int_equal(check(&options), -1);
    assert_says(&error, "at least 5");
}

static int check_link(char *broker, char *protocol, char *mechanism, bool allow_plaintext)
{
    struct sink_options options = kafka_sink();

    options.brokers.items[1] = broker;
    options.allow_plaintext = allow_plaintext;
    set_property(&options, "security.protocol", protocol);
    set_property(&options, "sasl.mechanism", mechanism);
    return check(&options);
}

TEST(no_password_or_token_crosses_a_network_to_kafka_in_the_clear)
{
    static char *const mechanisms[] = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"};
    static char *const here[] = {"localhost:1", "127.1.2.3:9092", "[::1]:9092"};
    static char *const there[] = {"b.example:9092", "10.0.0.1:9092", "[fe80::1]:9092",
                                  "127.example:1"};

    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(check_link(there[i], "sasl_plaintext", mechanisms[i], false), -1);
        assert_int_equal(error.kind, ERROR_PERMANENT);
        assert_int_equal(error.origin, ERROR_CONFIG);
        assert_says(&error,
                    "[sink.events.properties] \"security.protocol\": credentials would cross");
        assert_says(&error, there[i]);
        assert_says(&error, "write \"SASL_SSL\", or allow_plaintext = true in [sink.events]");
        assert_int_equal(check_link(there[i], "SASL_PLAINTEXT", mechanisms[i], false), -1);
        assert_int_equal(check_link(there[i], "sasl_plaintext", mechanisms[i], true), 0);
        assert_int_equal(check_link(there[i], "sasl_ssl", mechanisms[i], false), 0);
        assert_int_equal(check_link(there[i], "plaintext", mechanisms[i], false), 0);
    }
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(check_link(here[i], "sasl_plaintext", "PLAIN", false), 0);
    assert_int_equal(check_link(there[0], "sasl_plaintext", "GSSAPI", false), 0);
}

static int says_plaintext(char *name, char *value, bool allow_plaintext)
{
    struct sink_options options = kafka_sink();

    options.allow_plaintext = allow_plaintext;
    set_property(&options, name, value);
    return check(&options) < 0 && strstr(error.text, "without TLS") != NULL;
}

TEST(no_secret_crosses_a_network_to_a_token_endpoint_in_the_clear)
{
    static char name[] = "sasl.oauthbearer.token.endpoint.url";

    assert_refused_property(name, "http://id.example/token", "allow_plaintext = true");
    assert_refused_property(name, "id.example/token", "write an https:// URL");
    assert_refused_property(name, "http://localhost@id.example/token", "without TLS");
    /* What remains to be said is librdkafka's, which Debian builds without OIDC. */
    assert_int_equal(says_plaintext(name, "HTTPS://id.example/token", false), 0);
    assert_int_equal(says_plaintext(name, "http://localhost:8080/token", false), 0);
    assert_int_equal(says_plaintext(name, "http://id.example/token", true), 0);
}

TEST(servers_are_written_as_brokers)
{
    assert_refused_property("bootstrap.servers", "x:1", "write brokers");
    assert_refused_property("metadata.broker.list", "x:1", "write brokers");
}

TEST(wrong_names_and_values_come_with_librdkafkas_text)
{
    assert_refused_property("linger.mss", "1", "No such configuration property");
    assert_refused_property("compression.type", "brotli", "Invalid value");
    assert_refused_property("nosuch.password_file", "/nowhere", "No such configuration property");
}
