#include "route/rules.h"
#include "fuzz.h"

#include <strings.h>

/*
 * Input: names and values. What the rules accept holds nothing that a broker would refuse or obey,
 * and what they refuse breaks one of the written rules.
 */

#define HEADERS_MAX 70

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static bool consists_of(struct text text, const char *set)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\0' || strchr(set, text.data[i]) == NULL)
            return false;
    return true;
}

static bool starts_with(struct text text, const char *prefix)
{
    return text.len >= strlen(prefix) && memcmp(text.data, prefix, strlen(prefix)) == 0;
}

static bool holds(struct text text, char byte)
{
    return text.len > 0 && memchr(text.data, byte, text.len) != NULL;
}

static bool is_kafka_topic(struct text topic)
{
    return topic.len >= 1 && topic.len <= 249 && consists_of(topic, ALNUM "._-") &&
           !text_equal(topic, text_of(".")) && !text_equal(topic, text_of("..")) &&
           !starts_with(topic, "__");
}

static bool is_nats_subject(struct text subject)
{
    if (subject.len < 1 || subject.len > 255 || subject.data[0] == '.' ||
        subject.data[subject.len - 1] == '.' || memmem(subject.data, subject.len, "..", 2) != NULL)
        return false;
    for (size_t i = 0; i < subject.len; i++)
        if (subject.data[i] <= ' ' || subject.data[i] > '~' || subject.data[i] == '*' ||
            subject.data[i] == '>')
            return false;
    return subject.data[0] != '$' && !starts_with(subject, "_INBOX.") &&
           !text_equal(subject, text_of("_INBOX"));
}

static const struct header_rules rules = {
    .own = {{"X-Event-ID", 10}, {"type", 4}, {NULL, 0}, {"key", 3}, {"replayed_at", 11}}};

static bool is_own(struct text name)
{
    return text_equal(name, text_of("X-Event-ID")) || text_equal(name, text_of("type")) ||
           text_equal(name, text_of("key")) || text_equal(name, text_of("replayed_at"));
}

static bool is_kafka_name(struct text name)
{
    for (size_t at = 0, step; at < name.len; at += step) {
        step = text_utf8_len(name.data + at, name.len - at);
        if (step == 0 || text_is_control(name.data + at, step))
            return false;
    }
    return name.len > 0;
}

static bool is_nats_name(struct text name)
{
    for (size_t i = 0; i + 5 <= name.len; i++)
        if (strncasecmp(name.data + i, "nats-", 5) == 0)
            return false;
    return name.len > 0 && consists_of(name, ALNUM "!#$%&'*+-.^_`|~");
}

static bool is_nats_value(struct text value)
{
    static const char *const sought[] = {"Nats-Msg-Id", "Nats-Expected-", "Nats-Rollup",
                                         "Nats-Stream-Source"};

    for (size_t i = 0; i < sizeof sought / sizeof *sought && value.len > 0; i++)
        if (memmem(value.data, value.len, sought[i], strlen(sought[i])) != NULL)
            return false;
    return value.len == 0 || (!holds(value, '\r') && !holds(value, '\n') && !holds(value, 0) &&
                              strchr(" \t", value.data[0]) == NULL &&
                              strchr(" \t", value.data[value.len - 1]) == NULL);
}

static bool fit(const struct header *headers, int count, bool nats)
{
    size_t bytes = 0;
    int sent = 0;

    for (int i = 0; i < count; i++) {
        const struct header *header = &headers[i];

        if (header->value.data == NULL)
            continue;
        sent++;
        bytes += header->name.len + header->value.len;
        if (is_own(header->name) ||
            !(nats ? is_nats_name(header->name) && is_nats_value(header->value)
                   : is_kafka_name(header->name)))
            return false;
    }
    return sent <= 64 && bytes <= 16384;
}

static void expect_agreement(const char *broken, bool fit)
{
    EXPECT((broken == NULL) == fit);
    EXPECT(broken == NULL || broken[0] != '\0');
}

static void check_name(struct text part)
{
    struct text name = {part.data != NULL ? fuzz_bytes(part) : NULL, part.len};

    expect_agreement(rules_kafka_topic(name), is_kafka_topic(name));
    expect_agreement(rules_nats_subject(name), is_nats_subject(name));
    free((char *)name.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {(const char *)data, size};
    struct header headers[HEADERS_MAX];
    int count = 0;

    check_name(input_take(&input));
    while (count < HEADERS_MAX && input.len > 0) {
        headers[count].name = input_take(&input);
        headers[count++].value = input_take(&input);
    }
    for (int i = 0; i < count; i++)
        check_name(headers[i].name);
    expect_agreement(rules_headers(&rules, headers, count, false), fit(headers, count, false));
    expect_agreement(rules_headers(&rules, headers, count, true), fit(headers, count, true));
    return 0;
}
