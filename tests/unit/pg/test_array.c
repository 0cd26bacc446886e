#include "pg/wire.h"
#include "test.h"
#include "unit/seed.h"

#include <stdlib.h>
#include <string.h>

/* Every byte as array_send writes and array_recv reads it (src/backend/utils/adt/arrayfuncs.c). */

static struct array array;
static char memory[256];

static int setup(void **state)
{
    (void)state;
    array = (struct array){0};
    memset(memory, 'x', sizeof memory);
    return 0;
}

FIXTURE(setup, NULL)

static void assert_bytes(const char *want, size_t len)
{
    assert_int_equal(array.len, len);
    assert_memory_equal(array.bytes, want, len);
}

#define ASSERT_BYTES(literal) assert_bytes(literal, sizeof literal - 1)

/* array_recv reads no dimension when there is none; bytes left over are an error. */
TEST(an_empty_array_has_no_dimension)
{
    array_begin(&array, memory, ARRAY_TEXT, 0, 0);
    ASSERT_BYTES("\0\0\0\0"
                 "\0\0\0\0"
                 "\0\0\0\x19");
}

TEST(an_element_that_does_not_fit_is_not_written)
{
    size_t before;

    array_begin(&array, memory, ARRAY_TEXT, 2, 3);
    array_add(&array, "abc", 3);
    before = array.len;
    array_add(&array, "x", 1);
    assert_int_equal(array.len, before);
    assert_true(array.len <= array.size);
}

static uint32_t read_int4(const char *at)
{
    const unsigned char *bytes = (const unsigned char *)at;

    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Walks the array as array_recv does: `count` elements and then nothing. */
static void assert_readable(int count, const size_t *lengths)
{
    size_t at = 20;

    assert_int_equal(read_int4(array.bytes), 1);
    assert_int_equal(read_int4(array.bytes + 12), count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(read_int4(array.bytes + at), lengths[i]);
        for (size_t byte = 0; byte < lengths[i]; byte++)
            assert_true((unsigned char)array.bytes[at + 4 + byte] == (unsigned)i % 251);
        at += 4 + lengths[i];
    }
    assert_int_equal(at, array.len);
}

TEST(many_elements_of_any_length_read_back)
{
    static unsigned char bytes[5000];
    static size_t lengths[2000];
    size_t total = 0;
    void *bytes_of_all;

    (void)seed_random();
    for (int i = 0; i < 2000; i++) {
        lengths[i] = (size_t)rand() % (rand() % 20 == 0 ? sizeof bytes : 50);
        total += lengths[i];
    }
    bytes_of_all = malloc(array_size(2000, total));
    assert_non_null(bytes_of_all);
    array_begin(&array, bytes_of_all, ARRAY_TEXT, 2000, total);
    for (int i = 0; i < 2000; i++) {
        memset(bytes, i % 251, lengths[i]);
        array_add(&array, bytes, lengths[i]);
    }
    assert_readable(2000, lengths);
    free(bytes_of_all);
}
