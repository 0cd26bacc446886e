#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What the fuzzers share: a property that does not hold ends the run, and the input is cut into
 * parts. Each target asserts what its header promises, not only that nothing crashes.
 */

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const char *data;
    size_t len;
};

/* The next part, up to 0xFF (which no UTF-8 holds) or the end. An empty part that begins with
 * nothing left is NULL, so that the targets see SQL NULL too. */
static inline struct text input_take(struct input *input)
{
    struct text part = {input->data, input->len};
    const char *end = input->len > 0 ? memchr(input->data, 0xFF, input->len) : NULL;

    if (input->len == 0)
        return (struct text){NULL, 0};
    part.len = end != NULL ? (size_t)(end - input->data) : input->len;
    input->data += part.len + (end != NULL);
    input->len -= part.len + (end != NULL);
    return part;
}

static inline unsigned char input_byte(struct input *input)
{
    if (input->len == 0)
        return 0;
    input->len--;
    return (unsigned char)*input->data++;
}

/* A terminated copy, cut at the first NUL; free() it. */
static inline char *fuzz_string(struct text part)
{
    char *string = strndup(part.data != NULL ? part.data : "", part.len);

    EXPECT(string != NULL);
    return string;
}

/* A copy in memory of exactly its size, so that a byte read behind it is found; free() it. */
static inline char *fuzz_bytes(struct text part)
{
    char *bytes = malloc(part.len > 0 ? part.len : 1);

    EXPECT(bytes != NULL);
    if (part.len > 0)
        memcpy(bytes, part.data, part.len);
    return bytes;
}

#endif
