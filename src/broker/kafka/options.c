/*
 * Builds a librdkafka configuration from sink options.
 *
 * Guarantee: whatever the user's properties say, a producer with this configuration waits for all
 * in-sync replicas, retries in order, and reports on every message. Properties that would weaken
 * this are refused. The check looks at effective values, so an alias cannot evade it. A secret that
 * was read from a file never appears in a message.
 *
 * Deliberately not done: translating librdkafka's properties into keys of our own. They are passed
 * on unchanged, and so is librdkafka's error about a wrong one.
 */

#include "broker/kafka/kafka.h"

#include "base/bounded_call.h"
#include "base/clock.h"
#include "base/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MESSAGE_TIMEOUT_MS_MIN 60000
#define SOCKET_TIMEOUT_MS_MIN 10000
#define SOCKET_TIMEOUT_MS_MAX 300000 /* librdkafka's own limit */
#define QUEUE_MESSAGES_MIN 100000
#define LINGER_MS_MAX 900000 /* librdkafka's own limit */
#define FIRST_ANSWER_TIMEOUT "api.version.request.timeout.ms"
#define FIRST_ANSWER_MS_MAX 10000 /* librdkafka's default */
#define QUEUE_KBYTES "queue.buffering.max.kbytes"
#define SECRET_SUFFIX "password_file"
#define FILE_SUFFIX "_file"
#define VALUE_BYTES_MAX 4096
#define PLUGINS "plugin.library.paths"
#define PLUGINS_START_MS 5000

struct setting {
    const char *name;
    const char *value;
};

static const struct setting settings[] = {
    {"client.id", "outbox-relay"},
    {"acks", "all"},
    {"enable.ssl.certificate.verification", "true"},
    {"ssl.endpoint.identification.algorithm", "https"}, /* librdkafka before 2.0: none */
    {"max.in.flight.requests.per.connection", "5"},
    {"linger.ms", "1"},
    {"partitioner", "murmur2_random"}, /* as Java's; librdkafka's own differs */
    {"allow.auto.create.topics", "false"},
    {"socket.keepalive.enable", "true"},
    {"socket.nagle.disable", "true"}, /* otherwise a request's last packet waits for a TCP ACK */
    {"topic.metadata.propagation.max.ms", "5000"},
    /* librdkafka's defaults (10 s, 10 s, 30 s) exceed a typical publish timeout. */
    {"reconnect.backoff.max.ms", "1000"},
    {FIRST_ANSWER_TIMEOUT, "3000"},                  /* raised by kafka_conf_raise_timeout */
    {"socket.connection.setup.timeout.ms", "10000"}, /* covers TCP, TLS and SASL */
    {"statistics.interval.ms", "0"},
};

static const struct setting required[] = {
    {"acks", "-1"},
    {"enable.idempotence", "false"},       /* kafka.c says why */
    {"enable.gapless.guarantee", "false"}, /* with it, one refused message stops all others */
    {"delivery.report.only.error", "false"},
    {"log.queue", "false"},
    {"transactional.id", ""},
    {"test.mock.num.brokers", "0"}, /* a mock would acknowledge messages without storing them */
};

static const char *const server_names[] = {"bootstrap.servers", "metadata.broker.list"};

struct range {
    const char *name;
    int64_t min;
    int64_t max;
};

static int64_t message_timeout_ms_min(const struct sink_options *options)
{
    return 2 * options->publish_timeout_ms;
}

static int refuse_property(const struct sink_options *options, const struct property *property,
                           const char *why, struct error *error)
{
    return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s.properties] \"%s\": %s",
                     options->name, property->name, why);
}

/* The property's value is the path of the file; its name without "_file" is librdkafka's
 * property. */
static int set_secret(rd_kafka_conf_t *conf, const struct sink_options *options,
                      const struct property *property, bool with_secrets, struct error *error)
{
    int len = (int)(strlen(property->name) - strlen(FILE_SUFFIX));
    char name[128];
    char why[512];
    char *secret = with_secrets ? secret_read(property->value, error) : NULL;
    rd_kafka_conf_res_t result;

    if (with_secrets && secret == NULL) {
        struct error cause = *error;

        return cause.origin == ERROR_CONFIG ? refuse_property(options, property, cause.text, error)
                                            : -1;
    }
    (void)snprintf(name, sizeof name, "%.*s", len, property->name);
    result = rd_kafka_conf_set(conf, name, secret, why, sizeof why);
    secret_free(secret);
    if (result == RD_KAFKA_CONF_OK)
        return 0;
    /* librdkafka's error quotes the value, so it is not shown once a secret has been read. */
    return refuse_property(options, property, with_secrets ? "not accepted by librdkafka" : why,
                           error);
}

/* The client's secret is sent to this URL in exchange for a token. */
static int check_token_endpoint(const struct sink_options *options, const struct property *property,
                                struct error *error)
{
    static const char tls[] = "https://";
    static const char plain[] = "http://";
    const char *url = property->value;

    if (options->allow_plaintext ||
        strcmp(property->name, "sasl.oauthbearer.token.endpoint.url") != 0 ||
        strncasecmp(url, tls, strlen(tls)) == 0 ||
        (strncasecmp(url, plain, strlen(plain)) == 0 &&
         host_of_address_is_loopback(url + strlen(plain))))
        return 0;
    return refuse_property(options, property,
                           "the client's secret would cross the network without TLS; write an "
                           "https:// URL, or allow_plaintext = true in the sink to say that this "
                           "network is trusted",
                           error);
}

static int set_property(rd_kafka_conf_t *conf, const struct sink_options *options,
                        const struct property *property, bool with_secrets, struct error *error)
{
    const char *name = property->name;
    size_t secret_at = strlen(name) - strlen(SECRET_SUFFIX);
    char why[512];

    for (size_t i = 0; i < sizeof server_names / sizeof *server_names; i++)
        if (strcmp(name, server_names[i]) == 0)
            return refuse_property(options, property, "write brokers = [...] in the sink instead",
                                   error);
    if (check_token_endpoint(options, property, error) < 0)
        return -1;
    if (strlen(name) >= strlen(SECRET_SUFFIX) && strcmp(name + secret_at, SECRET_SUFFIX) == 0)
        return set_secret(conf, options, property, with_secrets, error);
    if (rd_kafka_conf_set(conf, name, property->value, why, sizeof why) == RD_KAFKA_CONF_OK)
        return 0;
    return refuse_property(options, property, why, error);
}

static int set_own(rd_kafka_conf_t *conf, const char *name, const char *value, struct error *error)
{
    char why[512];

    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) == RD_KAFKA_CONF_OK)
        return 0;
    return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "librdkafka: %s", why);
}

static int set_own_number(rd_kafka_conf_t *conf, const char *name, int64_t value,
                          struct error *error)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    return set_own(conf, name, text, error);
}

static int set_servers(rd_kafka_conf_t *conf, const struct sink_options *options,
                       struct error *error)
{
    char list[VALUE_BYTES_MAX];
    size_t len = 0;

    for (int i = 0; i < options->brokers.count; i++) {
        int count = snprintf(list + len, sizeof list - len, "%s%s", i > 0 ? "," : "",
                             options->brokers.items[i]);

        if (count < 0 || (size_t)count >= sizeof list - len)
            return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                             "[sink.%s] brokers: the list is longer than %d bytes", options->name,
                             VALUE_BYTES_MAX);
        len += (size_t)count;
    }
    return set_own(conf, server_names[0], list, error);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int set_all_own(rd_kafka_conf_t *conf, const struct sink_options *options,
                       struct error *error)
{
    int64_t socket_timeout_ms = larger(SOCKET_TIMEOUT_MS_MIN, options->publish_timeout_ms);

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (set_own(conf, settings[i].name, settings[i].value, error) < 0)
            return -1;
    if (set_own_number(conf, "message.timeout.ms",
                       larger(MESSAGE_TIMEOUT_MS_MIN, message_timeout_ms_min(options)), error) < 0)
        return -1;
    /* A broker that hangs keeps a request for so long (librdkafka's default: 60 s), and meanwhile
     * the client does not ask who leads the partition now. */
    if (socket_timeout_ms > SOCKET_TIMEOUT_MS_MAX)
        socket_timeout_ms = SOCKET_TIMEOUT_MS_MAX;
    if (set_own_number(conf, "socket.timeout.ms", socket_timeout_ms, error) < 0)
        return -1;
    if (set_own_number(conf, "queue.buffering.max.messages",
                       larger(QUEUE_MESSAGES_MIN, 2 * (int64_t)options->batch), error) < 0)
        return -1;
    return set_servers(conf, options, error);
}

/* The effective value, with aliases and topic defaults resolved. "" when unset. */
const char *kafka_conf_value(const rd_kafka_conf_t *conf, const char *name, char *value,
                             size_t size)
{
    if (rd_kafka_conf_get(conf, name, value, &size) != RD_KAFKA_CONF_OK)
        value[0] = '\0';
    return value;
}

static bool has_value(const rd_kafka_conf_t *conf, const char *name, const char *wanted)
{
    char value[64] = "";

    return strcmp(kafka_conf_value(conf, name, value, sizeof value), wanted) == 0;
}

int64_t kafka_conf_number(const rd_kafka_conf_t *conf, const char *name)
{
    char value[64] = "";

    return strtoll(kafka_conf_value(conf, name, value, sizeof value), NULL, 10);
}

static int check_required(const rd_kafka_conf_t *conf, const struct sink_options *options,
                          const struct property *property, struct error *error)
{
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        char value[256] = "";
        char why[512];

        if (strcmp(kafka_conf_value(conf, required[i].name, value, sizeof value),
                   required[i].value) == 0)
            continue;
        (void)snprintf(why, sizeof why,
                       "%s = \"%s\" contradicts at-least-once delivery%s; remove it",
                       required[i].name, value,
                       strcmp(required[i].name, "enable.idempotence") == 0
                           ? ": a cluster that was wiped may take new messages for repeats"
                             " (docs/messages.md)"
                           : "");
        return refuse_property(options, property, why, error);
    }
    return 0;
}

static int check_ranges(const rd_kafka_conf_t *conf, const struct sink_options *options,
                        const struct property *property, struct error *error)
{
    const struct range ranges[] = {
        {"max.in.flight.requests.per.connection", 1, 5},
        {"message.send.max.retries", 1, INT64_MAX},
        {"message.timeout.ms", message_timeout_ms_min(options), INT64_MAX},
        {"linger.ms", 0, options->publish_timeout_ms - 1},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        int64_t value = kafka_conf_number(conf, ranges[i].name);
        bool is_low = value < ranges[i].min;
        char why[512];

        if (!is_low && value <= ranges[i].max)
            continue;
        (void)snprintf(why, sizeof why,
                       "%s = %lld contradicts at-least-once delivery within publish_timeout; "
                       "it must be at %s %lld",
                       ranges[i].name, (long long)value, is_low ? "least" : "most",
                       (long long)(is_low ? ranges[i].min : ranges[i].max));
        return refuse_property(options, property, why, error);
    }
    return 0;
}

/* "random" is the only partitioner that ignores the key. */
static int check_partitioner(const rd_kafka_conf_t *conf, const struct sink_options *options,
                             const struct property *property, struct error *error)
{
    char value[64] = "";

    if (!options->keep_order ||
        strcmp(kafka_conf_value(conf, "partitioner", value, sizeof value), "random") != 0)
        return 0;
    return refuse_property(options, property,
                           "\"random\" spreads a key over all partitions, which contradicts"
                           " order = \"key\"; use \"murmur2_random\" (the default) or"
                           " \"consistent_random\", or write order = \"none\" in [outbox]",
                           error);
}

/* A message larger than the whole queue could never be enqueued. */
static int check_queue(const rd_kafka_conf_t *conf, const struct sink_options *options,
                       struct error *error)
{
    int64_t queue_kbytes = kafka_conf_number(conf, QUEUE_KBYTES);
    int64_t message_bytes_max = kafka_conf_number(conf, "message.max.bytes");

    if (queue_kbytes * 1024 >= message_bytes_max)
        return 0;
    return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                     "[sink.%s.properties] \"%s\": %lld KiB cannot hold a message of "
                     "message.max.bytes = %lld; it must be at least %lld",
                     options->name, QUEUE_KBYTES, (long long)queue_kbytes,
                     (long long)message_bytes_max, (long long)((message_bytes_max + 1023) / 1024));
}

/* Only GSSAPI sends nothing that an eavesdropper can reuse. A password can be guessed offline from
 * a SCRAM exchange, and the other mechanisms send the password or token itself. */
static int check_plaintext(const rd_kafka_conf_t *conf, const struct sink_options *options,
                           struct error *error)
{
    const char *remote = NULL;

    for (int i = options->brokers.count - 1; i >= 0; i--)
        if (!host_of_address_is_loopback(options->brokers.items[i]))
            remote = options->brokers.items[i];
    if (remote == NULL || options->allow_plaintext ||
        !has_value(conf, "security.protocol", "sasl_plaintext") ||
        has_value(conf, "sasl.mechanisms", "GSSAPI"))
        return 0;
    return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                     "[sink.%s.properties] \"security.protocol\": credentials would cross the "
                     "network to %s without TLS; write \"SASL_SSL\", or allow_plaintext = true in "
                     "[sink.%s] to say that this network is trusted",
                     options->name, remote, options->name);
}

/* librdkafka refuses a back-off above the maximum, and our default maximum is lower than
 * librdkafka's. */
static int raise_reconnect_max(rd_kafka_conf_t *conf, struct error *error)
{
    int64_t first_ms = kafka_conf_number(conf, "reconnect.backoff.ms");

    if (first_ms <= kafka_conf_number(conf, "reconnect.backoff.max.ms"))
        return 0;
    return set_own_number(conf, "reconnect.backoff.max.ms", first_ms, error);
}

/* Properties are checked one by one, so that the message names the property as the user wrote
 * it. */
static int fill(rd_kafka_conf_t *conf, const struct sink_options *options, bool with_secrets,
                struct error *error)
{
    if (set_all_own(conf, options, error) < 0)
        return -1;
    for (int i = 0; i < options->property_count; i++) {
        const struct property *property = &options->properties[i];

        if (set_property(conf, options, property, with_secrets, error) < 0 ||
            check_required(conf, options, property, error) < 0 ||
            check_ranges(conf, options, property, error) < 0 ||
            check_partitioner(conf, options, property, error) < 0)
            return -1;
    }
    if (raise_reconnect_max(conf, error) < 0 || check_plaintext(conf, options, error) < 0)
        return -1;
    return check_queue(conf, options, error);
}

rd_kafka_conf_t *kafka_conf_new(const struct sink_options *options, bool with_secrets,
                                struct error *error)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();

    if (fill(conf, options, with_secrets, error) == 0)
        return conf;
    rd_kafka_conf_destroy(conf);
    return NULL;
}

/* The cluster may be merely slow, so the timeout doubles with each client that got no answer. */
int kafka_conf_raise_timeout(rd_kafka_conf_t *conf, int silent_clients, struct error *error)
{
    int64_t timeout_ms = kafka_conf_number(conf, FIRST_ANSWER_TIMEOUT);
    int64_t longer_ms = timeout_ms;

    for (int i = 0; i < silent_clients && longer_ms < FIRST_ANSWER_MS_MAX; i++)
        longer_ms = 2 * longer_ms < FIRST_ANSWER_MS_MAX ? 2 * longer_ms : FIRST_ANSWER_MS_MAX;
    return longer_ms > timeout_ms ? set_own_number(conf, FIRST_ANSWER_TIMEOUT, longer_ms, error)
                                  : 0;
}

int kafka_conf_send_on_flush(rd_kafka_conf_t *conf, struct error *error)
{
    int64_t timeout_ms = kafka_conf_number(conf, "message.timeout.ms");

    /* librdkafka requires linger.ms to be shorter than the message timeout. The lane's own deadline
     * passes long before either. */
    return set_own_number(
        conf, "linger.ms",
        timeout_ms > 0 && timeout_ms <= LINGER_MS_MAX ? timeout_ms - 1 : LINGER_MS_MAX, error);
}

/* A configuration used only to load plugins. It outlives a call that is abandoned because a plugin
 * hangs. */
struct plugins {
    rd_kafka_conf_t *conf;
    char paths[VALUE_BYTES_MAX];
};

static void load_plugins(void *argument)
{
    struct plugins *plugins = argument;
    char why[512];

    (void)rd_kafka_conf_set(plugins->conf, PLUGINS, plugins->paths, why, sizeof why);
}

static void drop_plugins(void *argument)
{
    struct plugins *plugins = argument;

    rd_kafka_conf_destroy(plugins->conf);
    free(plugins);
}

/* librdkafka loads and starts a plugin as soon as it is set, and one may hang. */
static int try_plugins(const struct sink_options *options, const struct property *property,
                       struct error *error)
{
    struct plugins *plugins = calloc(1, sizeof *plugins);
    struct bounded_call *late = NULL;
    enum bounded_result result;

    if (plugins == NULL)
        return error_no_memory(error);
    plugins->conf = rd_kafka_conf_new();
    (void)snprintf(plugins->paths, sizeof plugins->paths, "%s", property->value);
    result = bounded_call_run(&late, load_plugins, drop_plugins, plugins,
                              clock_now_ms() + PLUGINS_START_MS);
    if (result != BOUNDED_LATE)
        drop_plugins(plugins);
    bounded_call_forget(&late);
    return result == BOUNDED_LATE
               ? refuse_property(options, property, "a plugin does not start within 5 s", error)
               : 0;
}

/* Sets `warning` if a property switches off what makes TLS safe. */
static void find_weak_tls(const rd_kafka_conf_t *conf, const struct sink_options *options,
                          char *warning, size_t size)
{
    if (!has_value(conf, "security.protocol", "ssl") &&
        !has_value(conf, "security.protocol", "sasl_ssl"))
        return;
    if (has_value(conf, "enable.ssl.certificate.verification", "false"))
        (void)snprintf(warning, size,
                       "[sink.%s.properties] enable.ssl.certificate.verification = false: an "
                       "attacker on the network can read all messages and impersonate the broker",
                       options->name);
    else if (has_value(conf, "ssl.endpoint.identification.algorithm", "none"))
        (void)snprintf(warning, size,
                       "[sink.%s.properties] ssl.endpoint.identification.algorithm = none: a "
                       "certificate for any host is accepted as the broker's",
                       options->name);
}

int kafka_check_options(const struct sink_options *options, char *warning, size_t warning_size,
                        struct error *error)
{
    rd_kafka_conf_t *conf;

    for (int i = 0; i < options->property_count; i++)
        if (strcmp(options->properties[i].name, PLUGINS) == 0 &&
            try_plugins(options, &options->properties[i], error) < 0)
            return -1;
    conf = kafka_conf_new(options, false, error);
    if (conf == NULL)
        return -1;
    find_weak_tls(conf, options, warning, warning_size);
    rd_kafka_conf_destroy(conf);
    return 0;
}
