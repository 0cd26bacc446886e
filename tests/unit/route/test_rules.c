#include "route/rules.h"
#include "test.h"

#include <string.h>

/* Each validator meets every byte at the start, in the middle and at the end. */

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static char buffer[32 * 1024];

static bool is_in(const char *set, int byte)
{
    return byte != '\0' && strchr(set, byte) != NULL;
}

static struct text repeat(char byte, size_t len)
{
    memset(buffer, byte, len);
    return (struct text){buffer, len};
}

static struct text with_byte(char data[3], int byte, int at)
{
    memcpy(data, "abc", 3);
    data[at] = (char)byte;
    return (struct text){data, 3};
}

static void assert_rule(const char *broken, bool allowed, const char *what, int byte, int at)
{
    if ((broken == NULL) != allowed)
        fail_msg("%s: byte 0x%02x at %d: %s", what, (unsigned)byte, at,
                 broken != NULL ? broken : "accepted");
}

/* ---- Kafka topics ---- */

TEST(a_kafka_topic_holds_only_letters_digits_dot_underscore_and_dash)
{
    char data[3];

    for (int byte = 0; byte <= 0xFF; byte++)
        for (int at = 0; at < 3; at++)
            assert_rule(rules_kafka_topic(with_byte(data, byte, at)), is_in(ALNUM "._-", byte),
                        "kafka topic", byte, at);
}

TEST(a_kafka_topic_has_1_to_249_bytes)
{
    assert_non_null(rules_kafka_topic((struct text){NULL, 0}));
    assert_non_null(rules_kafka_topic(text_of("")));
    assert_null(rules_kafka_topic(text_of("a")));
    assert_null(rules_kafka_topic(repeat('a', 249)));
    assert_non_null(rules_kafka_topic(repeat('a', 250)));
    assert_non_null(rules_kafka_topic(repeat('a', 20000)));
}

TEST(dot_and_dot_dot_are_no_kafka_topics)
{
    assert_non_null(rules_kafka_topic(text_of(".")));
    assert_non_null(rules_kafka_topic(text_of("..")));
    assert_null(rules_kafka_topic(text_of("...")));
    assert_null(rules_kafka_topic(text_of(".a")));
    assert_null(rules_kafka_topic(text_of("a.")));
}

TEST(internal_kafka_topics_are_refused)
{
    assert_non_null(rules_kafka_topic(text_of("__consumer_offsets")));
    assert_non_null(rules_kafka_topic(text_of("__transaction_state")));
    assert_non_null(rules_kafka_topic(text_of("__")));
    assert_null(rules_kafka_topic(text_of("_")));
    assert_null(rules_kafka_topic(text_of("_schemas")));
    assert_null(rules_kafka_topic(text_of("a__b")));
}

/* ---- NATS subjects ---- */

static bool is_subject_byte(int byte, int at)
{
    if (byte <= ' ' || byte >= 0x7F || byte == '*' || byte == '>')
        return false;
    if (byte == '.')
        return at == 1; /* elsewhere it leaves an empty token */
    return !(byte == '$' && at == 0);
}

TEST(a_nats_subject_holds_only_printable_ascii_without_wildcards)
{
    char data[3];

    for (int byte = 0; byte <= 0xFF; byte++)
        for (int at = 0; at < 3; at++)
            assert_rule(rules_nats_subject(with_byte(data, byte, at)), is_subject_byte(byte, at),
                        "subject", byte, at);
}

TEST(every_byte_of_a_long_subject_is_checked)
{
    struct text subject = repeat('a', 255);

    for (size_t at = 0; at < subject.len; at++) {
        buffer[at] = '\r';
        assert_non_null(rules_nats_subject(subject));
        buffer[at] = 'a';
    }
    assert_null(rules_nats_subject(subject));
}

TEST(a_nats_subject_has_1_to_255_bytes)
{
    assert_non_null(rules_nats_subject((struct text){NULL, 0}));
    assert_non_null(rules_nats_subject(text_of("")));
    assert_null(rules_nats_subject(text_of("a")));
    assert_null(rules_nats_subject(repeat('a', 255)));
    assert_non_null(rules_nats_subject(repeat('a', 256)));
}

TEST(a_subject_has_no_empty_token)
{
    static const char *const broken[] = {".", "..", ".a", "a.", "a..b", "a.b.", "a...b"};

    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        assert_non_null(rules_nats_subject(text_of(broken[i])));
    assert_null(rules_nats_subject(text_of("a.b.c.d")));
}

TEST(subjects_that_command_the_server_are_refused)
{
    static const char *const reserved[] = {
        "$JS.API.STREAM.PURGE.S",
        "$SYS.REQ.SERVER.PING",
        "$KV.bucket.key",
        "$O.bucket.C.x",
        "$JS",
        "$SYS",
        "$KV",
        "$O",
        "$",
        "$js.api",
        "_INBOX",
        "_INBOX.abc.def",
    };
    static const char *const free[] = {"_INBOXES", "_inbox.a", "a.$JS",     "a._INBOX.b",
                                       "JS.API",   "_",        "price.in.$"};

    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        assert_non_null(rules_nats_subject(text_of(reserved[i])));
    for (size_t i = 0; i < sizeof free / sizeof free[0]; i++)
        assert_null(rules_nats_subject(text_of(free[i])));
}

/* ---- headers ---- */

/* The names of the relay's own, where a sink has chosen no others. */
static const struct header_rules defaults = {
    .own = {{"id", 2}, {"type", 4}, {"created_at", 10}, {NULL, 0}, {"replayed_at", 11}}};

static const char *kafka_headers(const struct header *headers, int count)
{
    return rules_headers(&defaults, headers, count, false);
}

static const char *nats_headers(const struct header *headers, int count)
{
    struct header_rules rules = defaults;

    rules.own[OWN_KEY] = text_of("key");
    return rules_headers(&rules, headers, count, true);
}

typedef const char *header_rule(const struct header *headers, int count);

static const char *try_header(header_rule *rule, struct text name, struct text value)
{
    struct header header = {name, value};

    return rule(&header, 1);
}

TEST(headers_number_at_most_64)
{
    static header_rule *const both[] = {kafka_headers, nats_headers};
    struct header headers[65];

    for (int i = 0; i < 65; i++)
        headers[i] = (struct header){text_of("n"), text_of("v")};
    for (int i = 0; i < 2; i++) {
        assert_null(both[i](headers, 64));
        assert_non_null(both[i](headers, 65));
    }
}

TEST(headers_take_at_most_16_kib_names_and_values_together)
{
    static header_rule *const both[] = {kafka_headers, nats_headers};
    size_t limit = 16 * 1024;

    for (int i = 0; i < 2; i++) {
        struct header headers[2] = {{text_of("one"), repeat('x', limit - 6)},
                                    {text_of("two"), text_of("")}};

        assert_null(both[i](headers, 2));
        headers[1].value = text_of("1");
        assert_non_null(both[i](headers, 2));
        assert_null(try_header(both[i], text_of("n"), repeat('x', limit - 1)));
        assert_non_null(try_header(both[i], text_of("n"), repeat('x', limit)));
        assert_null(try_header(both[i], repeat('n', limit), text_of("")));
        assert_non_null(try_header(both[i], repeat('n', limit + 1), text_of("")));
    }
}

TEST(a_header_has_a_name)
{
    assert_non_null(try_header(kafka_headers, text_of(""), text_of("v")));
    assert_non_null(try_header(nats_headers, text_of(""), text_of("v")));
    assert_null(try_header(kafka_headers, text_of("n"), text_of("")));
    assert_null(try_header(nats_headers, text_of("n"), text_of("")));
}

TEST(the_relays_own_headers_cannot_be_overridden)
{
    static const char *const reserved[] = {"id", "type", "created_at", "replayed_at"};
    static const char *const free[] = {"ids", "i", "types", "created", "idx", "trace_id"};

    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        assert_non_null(try_header(kafka_headers, text_of(reserved[i]), text_of("v")));
        assert_non_null(try_header(nats_headers, text_of(reserved[i]), text_of("v")));
    }
    for (size_t i = 0; i < sizeof free / sizeof free[0]; i++) {
        assert_null(try_header(kafka_headers, text_of(free[i]), text_of("v")));
        assert_null(try_header(nats_headers, text_of(free[i]), text_of("v")));
    }
    assert_null(try_header(kafka_headers, text_of("key"), text_of("v")));
    assert_non_null(try_header(nats_headers, text_of("key"), text_of("v")));
}

TEST(a_name_that_the_relay_does_not_use_is_free_and_the_one_that_it_uses_is_not)
{
    const struct header_rules rules = {.own = {[OWN_ID] = {"X-Event-ID", 10}}};
    struct header header = {text_of("id"), text_of("v")};

    assert_null(rules_headers(&rules, &header, 1, false));
    assert_null(rules_headers(&rules, &header, 1, true));
    header.name = text_of("key");
    assert_null(rules_headers(&rules, &header, 1, true));
    header.name = text_of("x-event-id");
    assert_null(rules_headers(&rules, &header, 1, false));
    header.name = text_of("X-Event-ID");
    assert_non_null(rules_headers(&rules, &header, 1, false));
    assert_non_null(rules_headers(&rules, &header, 1, true));
    header.name = text_of("Nats-Msg-Id");
    assert_non_null(rules_headers(&rules, &header, 1, true));
}

TEST(a_null_header_counts_only_where_it_is_sent)
{
    struct header_rules rules = defaults;
    struct header headers[65];

    for (int i = 0; i < 65; i++)
        headers[i] = (struct header){text_of("id"), {NULL, 0}};
    assert_null(rules_headers(&rules, headers, 65, false));
    assert_null(nats_headers(headers, 65));
    rules.sends_null = true;
    assert_non_null(rules_headers(&rules, headers, 1, false));
    for (int i = 0; i < 65; i++)
        headers[i].name = text_of("n");
    assert_null(rules_headers(&rules, headers, 64, false));
    assert_non_null(rules_headers(&rules, headers, 65, false));
}

TEST(a_header_name_is_a_token_of_rfc_7230_on_nats)
{
    char data[3];

    for (int byte = 0; byte <= 0xFF; byte++)
        for (int at = 0; at < 3; at++) {
            bool allowed = is_in(ALNUM "!#$%&'*+-.^_`|~", byte);
            struct text name = with_byte(data, byte, at);

            assert_rule(try_header(nats_headers, name, text_of("v")), allowed, "name", byte, at);
            assert_rule(rules_nats_header_name(name), allowed, "own name", byte, at);
        }
}

TEST(a_header_name_is_utf8_without_control_characters_on_kafka)
{
    static const char *const free[] = {"_internal_:traceparent", "a name", "\xC3\xBC\xE2\x82\xAC",
                                       "\xF0\x9F\x98\x80", "()<>@,;:\\\"/[]?={}"};
    static const char *const refused[] = {"\xC3", "a\xC2\x9B", "\xED\xA0\x80", "\xFF"};
    char data[3];

    for (int byte = 0; byte <= 0xFF; byte++)
        for (int at = 0; at < 3; at++) {
            bool allowed = byte >= ' ' && byte < 0x7F;
            struct text name = with_byte(data, byte, at);

            assert_rule(try_header(kafka_headers, name, text_of("v")), allowed, "name", byte, at);
            assert_rule(rules_kafka_header_name(name), allowed, "own name", byte, at);
        }
    for (size_t i = 0; i < sizeof free / sizeof *free; i++)
        assert_null(try_header(kafka_headers, text_of(free[i]), text_of("v")));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_non_null(try_header(kafka_headers, text_of(refused[i]), text_of("v")));
}

TEST(a_nats_header_value_holds_no_line_end_no_nul_and_no_blank_at_its_ends)
{
    char data[3];

    for (int byte = 0; byte <= 0xFF; byte++)
        for (int at = 0; at < 3; at++) {
            struct text value = with_byte(data, byte, at);
            bool allowed = byte != '\r' && byte != '\n' && byte != '\0' &&
                           (at == 1 || (byte != ' ' && byte != '\t'));

            assert_rule(try_header(nats_headers, text_of("n"), value), allowed, "header value",
                        byte, at);
            assert_rule(rules_nats_header_value(value), allowed, "own header's value", byte, at);
        }
    assert_null(rules_nats_header_value((struct text){NULL, 0}));
    assert_null(rules_nats_header_value(text_of("")));
    assert_non_null(rules_nats_header_value(text_of(" ")));
    assert_non_null(rules_nats_header_value(text_of("\t")));
}

TEST(a_nats_header_value_hides_none_of_the_servers_headers)
{
    static const char *const hiding[] = {"Nats-Msg-Id", "see Nats-Msg-Id: 1", "xNats-Msg-Idx",
                                         "Nats-Expected-Stream", "a Nats-Expected-Stream"};
    static const char *const free[] = {"Nats", "Nats-", "nats-msg-id", "Nats-Msg-I", "NNNNats-NN"};

    for (size_t i = 0; i < sizeof hiding / sizeof hiding[0]; i++)
        assert_non_null(rules_nats_header_value(text_of(hiding[i])));
    for (size_t i = 0; i < sizeof free / sizeof free[0]; i++)
        assert_null(rules_nats_header_value(text_of(free[i])));
}

/* Servers up to 2.9.3 obey them there. */
TEST(a_nats_header_value_holds_no_command_to_the_server)
{
    static const char *const commands[] = {"customer Nats-Rollup:all",
                                           "Nats-Rollup:sub",
                                           "NNats-Rollup: all",
                                           "No Nats-Nats-Rollup: all",
                                           "x Nats-Expected-Last-Sequence: 7",
                                           "x Nats-Expected-Last-Subject-Sequence:7",
                                           "Nats-Expected-Last-Msg-Id: a",
                                           "Nats-Stream-Source: S 7"};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        assert_non_null(rules_nats_header_value(text_of(commands[i])));
        assert_non_null(try_header(nats_headers, text_of("n"), text_of(commands[i])));
        assert_null(try_header(kafka_headers, text_of("n"), text_of(commands[i])));
    }
    assert_null(rules_nats_header_value(text_of("nats-rollup: all")));
    assert_null(rules_nats_header_value((struct text){"Nats-Rollup", 10}));
}

TEST(every_byte_of_a_long_nats_header_value_is_checked)
{
    struct text value = repeat('a', 4096);

    for (size_t at = 0; at < value.len; at++) {
        for (int i = 0; i < 3; i++) {
            buffer[at] = "\r\n"[i];
            assert_non_null(rules_nats_header_value(value));
        }
        buffer[at] = 'a';
    }
    assert_null(rules_nats_header_value(value));
}

/* Values are looked at eight bytes at once: beside each byte stands one that a sum of them all
 * would carry into. */
TEST(no_byte_of_a_long_nats_header_value_hides_another)
{
    static const char beside[] = {'\x01', '\t', '\x0E', 'a', '\x7F', '\x80', '\xFF'};

    for (size_t i = 0; i < sizeof beside; i++)
        for (int byte = 0; byte <= 0xFF; byte++) {
            struct text value = repeat(beside[i], 18);

            buffer[0] = buffer[17] = 'a';
            buffer[4] = (char)byte;
            assert_rule(rules_nats_header_value(value),
                        byte != '\r' && byte != '\n' && byte != '\0', "long value", byte, 4);
        }
}

TEST(headers_that_command_the_nats_server_are_refused_in_any_case)
{
    static const char lower[] = "nats-rollup";
    char name[sizeof lower];

    for (unsigned mask = 0; mask < 16; mask++) {
        memcpy(name, lower, sizeof lower);
        for (unsigned i = 0; i < 4; i++)
            if ((mask & 1U << i) != 0)
                name[i] = (char)(name[i] - 'a' + 'A');
        assert_non_null(try_header(nats_headers, text_of(name), text_of("all")));
    }
    assert_non_null(try_header(nats_headers, text_of("Nats-"), text_of("v")));
    assert_non_null(try_header(nats_headers, text_of("Nats-Msg-Id"), text_of("v")));
    assert_non_null(try_header(nats_headers, text_of("X-Nats-Msg-Id"), text_of("v")));
    assert_non_null(try_header(nats_headers, text_of("x-nats-rollup"), text_of("v")));
    assert_non_null(try_header(nats_headers, text_of("Nats-Expected-Stream"), text_of("v")));
    assert_null(try_header(nats_headers, text_of("Nats"), text_of("v")));
    assert_null(try_header(nats_headers, text_of("Natsy-x"), text_of("v")));
    assert_null(try_header(kafka_headers, text_of("Nats-Rollup"), text_of("all")));
}

TEST(one_broken_header_among_good_ones_is_found)
{
    struct header headers[64];

    for (int bad = 0; bad < 64; bad++) {
        for (int i = 0; i < 64; i++)
            headers[i] = (struct header){text_of("good"), text_of("v")};
        assert_null(nats_headers(headers, 64));
        headers[bad].value = text_of("a\r\nb");
        assert_non_null(nats_headers(headers, 64));
        assert_null(kafka_headers(headers, 64));
        headers[bad].name = text_of("id");
        assert_non_null(kafka_headers(headers, 64));
    }
}
