#include "pg/wire.h"
#include "test.h"
#include "unit/seed.h"

#include <stdio.h>
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

/* One dimension, no NULLs, the element type, then how many and the lower bound. */
#define HEADER(oid, count)                                                                         \
    "\0\0\0\1"                                                                                     \
    "\0\0\0\0"                                                                                     \
    "\0\0\0" oid "\0\0\0" count "\0\0\0\1"

TEST(an_array_of_int4_is_big_endian)
{
    array_begin(&array, memory, ARRAY_INT4, 5, 5 * 4);
    array_add_int4(&array, 1);
    array_add_int4(&array, -2);
    array_add_int4(&array, 0x12345678);
    array_add_int4(&array, INT32_MIN);
    array_add_int4(&array, INT32_MAX);
    ASSERT_BYTES(HEADER("\x17", "\5") "\0\0\0\4\0\0\0\1"
                                      "\0\0\0\4\xff\xff\xff\xfe"
                                      "\0\0\0\4\x12\x34\x56\x78"
                                      "\0\0\0\4\x80\0\0\0"
                                      "\0\0\0\4\x7f\xff\xff\xff");
}

TEST(an_array_of_int8_is_big_endian)
{
    array_begin(&array, memory, ARRAY_INT8, 4, 4 * 8);
    array_add_int8(&array, -1);
    array_add_int8(&array, 0x0102030405060708);
    array_add_int8(&array, INT64_MIN);
    array_add_int8(&array, INT64_MAX);
    ASSERT_BYTES(HEADER("\x14", "\4") "\0\0\0\x8\xff\xff\xff\xff\xff\xff\xff\xff"
                                      "\0\0\0\x8\1\2\3\4\5\6\7\x8"
                                      "\0\0\0\x8\x80\0\0\0\0\0\0\0"
                                      "\0\0\0\x8\x7f\xff\xff\xff\xff\xff\xff\xff");
}

TEST(an_array_of_text_holds_each_length_and_no_terminator)
{
    array_begin(&array, memory, ARRAY_TEXT, 3, 7);
    array_add(&array, "ab", 2);
    array_add(&array, "", 0);
    array_add(&array, "\xC3\xBC\0xy", 5);
    ASSERT_BYTES(HEADER("\x19", "\3") "\0\0\0\2ab"
                                      "\0\0\0\0"
                                      "\0\0\0\5\xC3\xBC\0xy");
}

TEST(an_array_of_tids_takes_the_six_bytes_as_they_came)
{
    static const unsigned char row[6] = {0, 1, 2, 3, 0, 9};

    array_begin(&array, memory, ARRAY_TID, 1, 6);
    array_add(&array, row, sizeof row);
    ASSERT_BYTES(HEADER("\x1b", "\1") "\0\0\0\6\0\1\2\3\0\x9");
}

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
