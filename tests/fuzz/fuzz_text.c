#include "base/text.h"
#include "fuzz.h"

#include <jansson.h>

/* Escapes are safe and lose nothing; UTF-8 is what RFC 3629 says; a number parses back. */

static void expect_safe(const char *out, size_t size)
{
    size_t len = strnlen(out, size);

    EXPECT(len < size);
    EXPECT(text_is_utf8(out, len));
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)out[i];

        EXPECT(byte >= 0x20 && byte != 0x7F);
        EXPECT(byte != 0xC2 || (unsigned char)out[i + 1] >= 0xA0);
    }
}

/* Reads what text_escape wrote. */
static size_t unescape(char *out, const char *escaped)
{
    size_t len = 0;
    unsigned byte = 0;

    while (*escaped != '\0') {
        if (*escaped != '\\') {
            out[len++] = *escaped++;
        } else if (escaped[1] == 'x') {
            EXPECT(sscanf(escaped + 2, "%2x", &byte) == 1);
            out[len++] = (char)byte;
            escaped += 4;
        } else {
            out[len++] = escaped[1] == 'n' ? '\n' : escaped[1];
            escaped += 2;
        }
    }
    return len;
}

static void check_whole_escape(struct text part)
{
    size_t size = part.len * 6 + 1;
    char *out = malloc(size);
    char *back = malloc(size);

    EXPECT(out != NULL && back != NULL);
    EXPECT(text_escape(out, size, part.data, part.len) == out);
    expect_safe(out, size);
    EXPECT(unescape(back, out) == part.len);
    EXPECT(memcmp(back, part.data, part.len) == 0);
    free(out);
    free(back);
}

static void check_json_escape(struct text part)
{
    size_t size = part.len * 6 + 1;
    char *quoted = malloc(size + 2);
    json_t *value;

    EXPECT(quoted != NULL);
    quoted[0] = '"';
    text_escape_json(quoted + 1, size, part.data, part.len);
    expect_safe(quoted + 1, size);
    memcpy(quoted + strlen(quoted), "\"", 2);
    value = json_loads(quoted, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    EXPECT(value != NULL);
    if (text_is_utf8(part.data, part.len) && memchr(part.data, 0xC2, part.len) == NULL) {
        EXPECT(json_string_length(value) == part.len);
        EXPECT(memcmp(json_string_value(value), part.data, part.len) == 0);
    }
    json_decref(value);
    free(quoted);
}

/* Cut to any size, the output is safe, within its bounds, and the whole or a prefix and dots. */
static void check_cut(struct text part, size_t size, bool json)
{
    char *(*escape)(char *, size_t, const char *, size_t) = json ? text_escape_json : text_escape;
    size_t whole_size = part.len * 6 + 1;
    char *whole = malloc(whole_size);
    char *out = malloc(size);
    size_t len;

    EXPECT(whole != NULL && out != NULL);
    escape(whole, whole_size, part.data, part.len);
    escape(out, size, part.data, part.len);
    expect_safe(out, size);
    len = strlen(out);
    if (strlen(whole) < size) {
        EXPECT(strcmp(out, whole) == 0);
    } else {
        size_t kept = len < 3 ? 0 : len - 3;

        EXPECT(memcmp(out, whole, kept) == 0);
        EXPECT(strncmp(out + kept, "...", len - kept) == 0);
    }
    free(whole);
    free(out);
}

static void check_utf8(struct text part)
{
    bool whole = true;

    for (size_t at = 0; at < part.len;) {
        const unsigned char *bytes = (const unsigned char *)part.data + at;
        size_t len = text_utf8_len(part.data + at, part.len - at);
        unsigned point = len < 2 ? bytes[0] : bytes[0] & (0x7FU >> len);

        EXPECT(len <= 4 && at + len <= part.len);
        for (size_t i = 1; i < len; i++) {
            EXPECT((bytes[i] & 0xC0U) == 0x80U);
            point = point << 6 | (bytes[i] & 0x3FU);
        }
        EXPECT(len != 1 || point < 0x80);
        EXPECT(len != 2 || (point >= 0x80 && point < 0x800));
        EXPECT(len != 3 || (point >= 0x800 && (point < 0xD800 || point > 0xDFFF)));
        EXPECT(len != 4 || (point >= 0x10000 && point <= 0x10FFFF));
        whole = whole && len > 0;
        at += len > 0 ? len : 1;
    }
    EXPECT(text_is_utf8(part.data, part.len) == whole);
}

static void check_numbers(const char *string)
{
    char out[32];
    int64_t ms = text_parse_duration_ms(string);
    int64_t bytes = text_parse_size(string);

    EXPECT(ms >= -1 && bytes >= -1);
    EXPECT(ms < 0 || string[strspn(string, "0123456789mshd")] == '\0');
    EXPECT(bytes < 0 || string[strspn(string, "0123456789KMGiB")] == '\0');
    if (ms >= 0) {
        EXPECT(text_parse_duration_ms(text_format_duration(out, sizeof out, ms)) == ms);
        EXPECT(strlen(out) <= strlen(string));
    }
    if (bytes >= 0) {
        EXPECT(text_parse_size(text_format_size(out, sizeof out, bytes)) == bytes);
        EXPECT(strlen(out) <= strlen(string));
    }
}

static void check_distance(const char *a, const char *b)
{
    unsigned distance = text_distance(a, b);
    size_t longest = strlen(a) > strlen(b) ? strlen(a) : strlen(b);

    EXPECT(distance == text_distance(b, a));
    EXPECT(distance <= longest && distance <= 64);
    EXPECT((distance == 0) == (strncmp(a, b, 64) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {(const char *)data, size};
    size_t cut = 1U + input_byte(&input);
    struct text all = {fuzz_bytes((struct text){input.data, input.len}), input.len};
    char *a;
    char *b;

    check_whole_escape(all);
    check_json_escape(all);
    check_cut(all, cut, false);
    check_cut(all, cut, true);
    check_utf8(all);
    a = fuzz_string(input_take(&input));
    b = fuzz_string(input_take(&input));
    check_numbers(a);
    check_distance(a, b);
    free(a);
    free(b);
    free((char *)all.data);
    return 0;
}
