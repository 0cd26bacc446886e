#include "pg/wire.h"
#include "test.h"

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
