#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are owned elsewhere. data == NULL is SQL NULL; len == 0 with data is an empty value.
 */
struct text {
    const char *data;
    size_t len;
};

/* What a noun ends with behind this number: "%d row%s". */
#define PLURAL(number) ((number) == 1 ? "" : "s")

struct text text_of(const char *string);
bool text_equal(struct text a, struct text b);
/* What stands before `end`, or all of it; *rest goes on behind `end`. */
struct text text_take(struct text *rest, const char *end);
/* FNV-1a (Fowler, Noll, Vo), 64 bits, of which the lower ones are mixed with the upper. */
uint64_t text_hash(struct text text);
/* The same of a text that comes in parts, without the mixing: the hash of what stands before, at
 * first TEXT_HASH_START, goes on with this part. */
#define TEXT_HASH_START UINT64_C(0xCBF29CE484222325)
uint64_t text_hash_more(uint64_t hash, struct text more);

/*
 * Escapes control characters (text_is_control), backslashes and invalid UTF-8 as C does, so that
 * the result is safe on a terminal and in a log. Truncates what does not fit and ends it with
 * "...". Always terminates `out`. Returns `out`.
 */
char *text_escape(char *out, size_t size, const char *data, size_t len);
/*
 * Makes a text safe to print on a terminal. UTF-8 without control characters is copied unchanged
 * (with `lines`, newlines and tabs are allowed); any other text is escaped by text_escape(). A text
 * that is too long is cut and ends with "...". Returns `out`.
 */
char *text_show(char *out, size_t size, struct text text, bool lines);

/* The same, escaped as the content of a JSON string (RFC 8259, section 7). */
char *text_escape_json(char *out, size_t size, const char *data, size_t len);

/* The length in bytes (1..4) of the UTF-8 sequence at `data`, 0 when it is malformed (RFC 3629). */
size_t text_utf8_len(const char *data, size_t len);
/* The code point of the well-formed sequence of `len` bytes. */
uint32_t text_utf8_code(const char *data, size_t len);
/* Whether that character, shown as it is, could change what surrounds it: a control character, also
 * one of U+0080 to U+009F, which terminals interpret, or one of the bidirectional controls, after
 * which text is shown in another order than it is stored. */
bool text_is_control(const char *data, size_t len);
bool text_is_utf8(const char *data, size_t len);
/* Whether it is UTF-8 without control characters; with `lines`, newlines and tabs are allowed. */
bool text_is_printable(struct text text, bool lines);
/* The longest beginning of at most `max` bytes that cuts no character of UTF-8 in two. */
struct text text_cut(struct text text, size_t max);
/* vsnprintf(), which cuts no character in two either. */
void text_vformat(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* The Levenshtein distance of a and b in bytes; only the first 64 bytes of each count. */
unsigned text_distance(const char *a, const char *b);

/* Which of several names is nearest to the given one: of those at equal distance the first. */
struct text_nearest {
    const char *to;
    const char *name;  /* NULL: none */
    unsigned distance; /* of `name`; at first the least that is too far */
};
void text_consider(struct text_nearest *nearest, const char *candidate);

/* Parses "250ms", "10s", "5m", "2h", "7d" or "0". Returns milliseconds, or -1. */
int64_t text_parse_duration_ms(const char *string);
/* Parses "512", "64KiB", "8MiB" or "1GiB". Returns bytes, or -1. */
int64_t text_parse_size(const char *string);

/* Writes the shortest spelling that parses to the same value. Returns `out`. */
char *text_format_duration(char *out, size_t size, int64_t ms);
char *text_format_size(char *out, size_t size, int64_t bytes);

#endif
