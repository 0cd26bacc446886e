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

static bool is_own(struct text name)
{
    return text_equal(name, text_of("id")) || text_equal(name, text_of("type")) ||
           text_equal(name, text_of("created_at"));
}

static bool are_kafka_headers(const struct header *headers, int count)
{
    size_t bytes = 0;

    for (int i = 0; i < count; i++) {
        bytes += headers[i].name.len + headers[i].value.len;
        if (headers[i].name.len == 0 || is_own(headers[i].name) ||
            !consists_of(headers[i].name, ALNUM "!#$%&'*+-.^_`|~"))
            return false;
    }
    return count <= 64 && bytes <= 16384;
}

static bool is_nats_header(const struct header *header)
{
    if (text_equal(header->name, text_of("key")))
        return false;
    for (size_t i = 0; i + 5 <= header->name.len; i++)
        if (strncasecmp(header->name.data + i, "nats-", 5) == 0)
            return false;
    return !holds(header->value, '\r') && !holds(header->value, '\n') && !holds(header->value, 0);
}

static bool are_nats_headers(const struct header *headers, int count)
{
    bool all = are_kafka_headers(headers, count);

    for (int i = 0; i < count && all; i++)
        all = is_nats_header(&headers[i]);
    return all;
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
    expect_agreement(rules_kafka_headers(headers, count), are_kafka_headers(headers, count));
    expect_agreement(rules_nats_headers(headers, count), are_nats_headers(headers, count));
    return 0;
}
