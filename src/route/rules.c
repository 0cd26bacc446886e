#include "route/rules.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#define KAFKA_TOPIC_BYTES_MAX 249
#define NATS_SUBJECT_BYTES_MAX 255
#define HEADERS_MAX 64
#define HEADER_BYTES_MAX (16 * 1024)

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool starts_with(struct text text, const char *prefix)
{
    size_t len = strlen(prefix);

    return text.len >= len && memcmp(text.data, prefix, len) == 0;
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

const char *rules_kafka_topic(struct text topic)
{
    if (topic.data == NULL || topic.len == 0)
        return "empty topic";
    if (topic.len > KAFKA_TOPIC_BYTES_MAX)
        return "topic longer than 249 bytes";
    for (size_t i = 0; i < topic.len; i++)
        if (!is_alphanumeric(topic.data[i]) && !is_one_of(topic.data[i], "._-"))
            return "invalid topic name: only letters, digits, \".\", \"_\" and \"-\" are allowed";
    if (text_equal(topic, text_of(".")) || text_equal(topic, text_of("..")))
        return "invalid topic name: \".\" and \"..\" are not allowed";
    if (starts_with(topic, "__"))
        return "internal topic: names that begin with \"__\" belong to Kafka";
    return NULL;
}

static const char *check_subject_bytes(struct text subject)
{
    for (size_t i = 0; i < subject.len; i++) {
        char c = subject.data[i];

        if (c <= ' ' || c >= 0x7F)
            return "invalid subject: only printable ASCII without spaces is allowed";
        if (c == '*' || c == '>')
            return "invalid subject: \"*\" and \">\" are wildcards";
        if (c == '.' && (i == 0 || i + 1 == subject.len || subject.data[i + 1] == '.'))
            return "invalid subject: empty token";
    }
    return NULL;
}

const char *rules_nats_subject(struct text subject)
{
    const char *broken;

    if (subject.data == NULL || subject.len == 0)
        return "empty subject";
    if (subject.len > NATS_SUBJECT_BYTES_MAX)
        return "subject longer than 255 bytes";
    broken = check_subject_bytes(subject);
    if (broken != NULL)
        return broken;
    if (subject.data[0] == '$' || text_equal(subject, text_of("_INBOX")) ||
        starts_with(subject, "_INBOX."))
        return "reserved subject: \"$...\" and \"_INBOX\" belong to NATS";
    return NULL;
}

const char *rules_nats_inbox_prefix(struct text prefix)
{
    if (prefix.len == 0)
        return "empty";
    if (prefix.len > NATS_INBOX_PREFIX_BYTES_MAX)
        return "longer than 64 bytes";
    if (prefix.data[0] == '$')
        return "names that begin with \"$\" belong to NATS";
    return check_subject_bytes(prefix);
}

/* RFC 7230, 3.2.6: the characters that a header name may consist of. */
static bool is_token(struct text name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!is_alphanumeric(name.data[i]) && !is_one_of(name.data[i], "!#$%&'*+-.^_`|~"))
            return false;
    return true;
}

const char *rules_kafka_header_name(struct text name)
{
    if (name.len == 0)
        return "empty header name";
    if (!is_token(name) && !text_is_printable(name, false))
        return "invalid header name: only UTF-8 without control characters is allowed";
    return NULL;
}

/* Servers up to 2.9.3 also obeyed a header whose name only ends in the name of a server header. */
static bool names_server_header(struct text name)
{
    static const char reserved[] = "Nats-";
    size_t len = sizeof reserved - 1;

    for (size_t i = 0; i + len <= name.len; i++)
        if (strncasecmp(name.data + i, reserved, len) == 0)
            return true;
    return false;
}

/* A server searches the whole header block for the names of these headers. When the first match is
 * inside a value, it stops there and ignores the real header: without Nats-Msg-Id a repeated
 * message is stored twice, without Nats-Expected-Stream it may be stored in another stream. Servers
 * up to 2.9.3 even obeyed the text in the value: "Nats-Rollup:all" purged a stream. */
static bool holds_server_header(struct text value)
{
    static const char *const sought[] = {"Nats-Msg-Id", "Nats-Expected-", "Nats-Rollup",
                                         "Nats-Stream-Source"};

    if (memchr(value.data, 'N', value.len) == NULL)
        return false;
    for (size_t i = 0; i < sizeof sought / sizeof *sought; i++)
        if (memmem(value.data, value.len, sought[i], strlen(sought[i])) != NULL)
            return true;
    return false;
}

static bool ends_line(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] == '\r' || bytes[i] == '\n' || bytes[i] == '\0')
            return true;
    return false;
}

/* Whether one of eight bytes is less than 14, as CR, LF, NUL and tab are. */
static bool may_end_line(const char *bytes)
{
    const uint64_t each = UINT64_MAX / 255;
    uint64_t eight;

    memcpy(&eight, bytes, sizeof eight);
    return ((eight - each * 14) & ~eight & each * 128) != 0;
}

/* Eight bytes at a time: byte by byte this took a tenth of all instructions. */
static bool has_line_end(struct text value)
{
    size_t i = 0;

    for (; value.len - i >= 8; i += 8)
        if (may_end_line(value.data + i) && ends_line(value.data + i, 8))
            return true;
    return ends_line(value.data + i, value.len - i);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

const char *rules_nats_header_value(struct text value)
{
    if (value.len == 0)
        return NULL;
    if (has_line_end(value))
        return "invalid header value: line breaks and NUL bytes are not allowed";
    if (is_blank(value.data[0]) || is_blank(value.data[value.len - 1]))
        return "invalid header value: leading and trailing blanks would be lost";
    if (holds_server_header(value))
        return "invalid header value: it contains the name of a header that NATS servers obey";
    return NULL;
}

const char *rules_nats_header_name(struct text name)
{
    if (name.len == 0)
        return "empty header name";
    if (!is_token(name))
        return "invalid header name: only letters, digits and !#$%&'*+-.^_`|~ are allowed";
    if (names_server_header(name))
        return "reserved header: NATS servers obey headers with \"Nats-\" in their names";
    return NULL;
}

static bool is_own(const struct header_rules *rules, struct text name)
{
    for (int i = 0; i < OWN_HEADERS; i++)
        if (rules->own[i].len == name.len && text_equal(rules->own[i], name))
            return true;
    return false;
}

const char *rules_headers(const struct header_rules *rules, const struct header *headers, int count,
                          bool nats)
{
    size_t bytes = 0;
    int sent = 0;

    for (int i = 0; i < count; i++) {
        struct text name = headers[i].name;
        const char *broken;

        if (headers[i].value.data == NULL && !rules->sends_null)
            continue;
        broken = nats ? rules_nats_header_name(name) : rules_kafka_header_name(name);
        if (broken == NULL && is_own(rules, name))
            broken = "reserved header: the relay sets one of this name itself";
        if (broken == NULL && nats)
            broken = rules_nats_header_value(headers[i].value);
        if (broken != NULL)
            return broken;
        bytes += name.len + headers[i].value.len;
        sent++;
    }
    if (sent > HEADERS_MAX)
        return "too many headers: more than 64";
    return bytes > HEADER_BYTES_MAX ? "headers larger than 16 KiB" : NULL;
}
