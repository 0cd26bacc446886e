#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISTANCE_BYTES_MAX 64

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit duration_units[] = {{"ms", 1},      {"s", 1000},     {"m", 60000},
                                             {"h", 3600000}, {"d", 86400000}, {NULL, 0}};
static const struct unit size_units[] = {
    {"", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {NULL, 0}};

struct text text_of(const char *string)
{
    return (struct text){string, string == NULL ? 0 : strlen(string)};
}

bool text_equal(struct text a, struct text b)
{
    if (a.data == NULL || b.data == NULL)
        return a.data == b.data;
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

struct text text_take(struct text *rest, const char *end)
{
    const char *found = memmem(rest->data, rest->len, end, strlen(end));
    struct text taken = {rest->data, found != NULL ? (size_t)(found - rest->data) : rest->len};
    size_t len = taken.len + (found != NULL ? strlen(end) : 0);

    *rest = (struct text){rest->data + len, rest->len - len};
    return taken;
}

uint64_t text_hash_more(uint64_t hash, struct text more)
{
    for (size_t i = 0; i < more.len; i++)
        hash = (hash ^ (unsigned char)more.data[i]) * 0x100000001B3u;
    return hash;
}

uint64_t text_hash(struct text text)
{
    uint64_t hash = text_hash_more(TEXT_HASH_START, text);

    return hash ^ hash >> 32;
}

static bool is_continuation(const char *data, size_t at)
{
    return ((unsigned char)data[at] & 0xC0U) == 0x80U;
}

struct text text_cut(struct text text, size_t max)
{
    size_t len = max;

    if (text.len <= max)
        return text;
    while (len > 0 && max - len < 3 && is_continuation(text.data, len))
        len--;
    return (struct text){text.data, len};
}

void text_vformat(char *out, size_t size, const char *format, va_list args)
{
    int len = vsnprintf(out, size, format, args);
    size_t last = size - 1; /* where the last character begins */

    if (len < 0)
        out[0] = '\0';
    if (len < 0 || (size_t)len < size)
        return;
    do
        last--;
    while (last > 0 && size - 1 - last < 4 && is_continuation(out, last));
    if (text_utf8_len(out + last, size - 1 - last) == 0)
        out[last] = '\0';
}

size_t text_utf8_len(const char *data, size_t len)
{
    unsigned char first = (unsigned char)data[0];
    unsigned char second = len > 1 ? (unsigned char)data[1] : 0;

    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return len > 1 && is_continuation(data, 1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        if (len < 3 || !is_continuation(data, 1) || !is_continuation(data, 2))
            return 0;
        if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F))
            return 0;
        return 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        if (len < 4 || !is_continuation(data, 1) || !is_continuation(data, 2) ||
            !is_continuation(data, 3))
            return 0;
        if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
            return 0;
        return 4;
    }
    return 0;
}

bool text_is_utf8(const char *data, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t step = text_utf8_len(data + at, len - at);

        if (step == 0)
            return false;
        at += step;
    }
    return true;
}

uint32_t text_utf8_code(const char *data, size_t len)
{
    uint32_t code = (unsigned char)data[0];

    if (len > 1)
        code &= 0x7FU >> len;
    for (size_t i = 1; i < len; i++)
        code = code << 6 | ((unsigned char)data[i] & 0x3FU);
    return code;
}

bool text_is_control(const char *data, size_t len)
{
    uint32_t code = text_utf8_code(data, len);

    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E ||
           code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
}

/* Writes the first character of the input, escaped, into `unit`. Returns its length in the input; C
 * has no escape for a character of several bytes, so there it is one byte. */
static size_t escape_unit(char unit[8], const char *data, size_t len, bool json)
{
    unsigned char byte = (unsigned char)data[0];
    size_t step = text_utf8_len(data, len);
    bool printable = step > 0 && !text_is_control(data, step);

    if (byte == '\\' || (json && byte == '"'))
        (void)snprintf(unit, 8, "\\%c", byte);
    else if (byte == '\n')
        (void)snprintf(unit, 8, "\\n");
    else if (printable)
        (void)snprintf(unit, 8, "%.*s", (int)step, data);
    else if (!json)
        (void)snprintf(unit, 8, "\\x%02x", byte);
    else
        (void)snprintf(unit, 8, "\\u%04x", step > 0 ? text_utf8_code(data, step) : 0xFFFD);
    return step > 0 && (json || printable) ? step : 1;
}

static char *escape(char *out, size_t size, const char *data, size_t len, bool json)
{
    char unit[8];
    size_t used = 0;
    size_t cut = 0; /* the last character boundary that leaves room for "..." */

    for (size_t at = 0; at < len;) {
        size_t step = escape_unit(unit, data + at, len - at, json);
        size_t unit_len = strlen(unit);

        if (used + unit_len >= size) {
            (void)snprintf(out + cut, size - cut, "...");
            return out;
        }
        memcpy(out + used, unit, unit_len);
        used += unit_len;
        at += step;
        if (used + sizeof "..." <= size)
            cut = used;
    }
    out[used] = '\0';
    return out;
}

char *text_escape(char *out, size_t size, const char *data, size_t len)
{
    return escape(out, size, data, len, false);
}

char *text_escape_json(char *out, size_t size, const char *data, size_t len)
{
    return escape(out, size, data, len, true);
}

unsigned text_distance(const char *a, const char *b)
{
    unsigned row[DISTANCE_BYTES_MAX + 1];
    size_t a_len = strnlen(a, DISTANCE_BYTES_MAX);
    size_t b_len = strnlen(b, DISTANCE_BYTES_MAX);

    for (size_t j = 0; j <= b_len; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned above = row[j];

            row[j] = diagonal + (a[i - 1] != b[j - 1]);
            if (above + 1 < row[j])
                row[j] = above + 1;
            if (row[j - 1] + 1 < row[j])
                row[j] = row[j - 1] + 1;
            diagonal = above;
        }
    }
    return row[b_len];
}

void text_consider(struct text_nearest *nearest, const char *candidate)
{
    unsigned distance = text_distance(nearest->to, candidate);

    if (distance >= nearest->distance)
        return;
    nearest->distance = distance;
    nearest->name = candidate;
}

static int64_t parse_with_unit(const char *string, const struct unit *units)
{
    char *end;
    long long count;

    if (string[0] < '0' || string[0] > '9')
        return -1;
    errno = 0;
    count = strtoll(string, &end, 10);
    if (errno != 0)
        return -1;
    if (count == 0 && *end == '\0')
        return 0;
    for (const struct unit *unit = units; unit->name != NULL; unit++)
        if (strcmp(end, unit->name) == 0)
            return count > INT64_MAX / unit->factor ? -1 : count * unit->factor;
    return -1;
}

int64_t text_parse_duration_ms(const char *string)
{
    return parse_with_unit(string, duration_units);
}

int64_t text_parse_size(const char *string)
{
    return parse_with_unit(string, size_units);
}

static char *format_with_unit(char *out, size_t size, int64_t value, const struct unit *units)
{
    const struct unit *best = &units[0];

    for (const struct unit *unit = units; unit->name != NULL; unit++)
        if (value % unit->factor == 0)
            best = unit;
    if (value == 0)
        (void)snprintf(out, size, "0");
    else
        (void)snprintf(out, size, "%" PRId64 "%s", value / best->factor, best->name);
    return out;
}

char *text_format_duration(char *out, size_t size, int64_t ms)
{
    return format_with_unit(out, size, ms, duration_units);
}

char *text_format_size(char *out, size_t size, int64_t bytes)
{
    return format_with_unit(out, size, bytes, size_units);
}

bool text_is_printable(struct text text, bool lines)
{
    for (size_t at = 0; at < text.len;) {
        char byte = text.data[at];
        size_t step = text_utf8_len(text.data + at, text.len - at);
        bool allowed = lines && (byte == '\n' || byte == '\t');

        if (step == 0 || (text_is_control(text.data + at, step) && !allowed))
            return false;
        at += step;
    }
    return true;
}

char *text_show(char *out, size_t size, struct text text, bool lines)
{
    size_t len;

    if (!text_is_printable(text, lines))
        return text_escape(out, size, text.data, text.len);
    len = text.len < size ? text.len : text_cut(text, size - sizeof "...").len;
    memcpy(out, text.data, len);
    (void)snprintf(out + len, size - len, "%s", text.len < size ? "" : "...");
    return out;
}
