#include "outbox/slices/batch_array.h"
#include "unit/batch.h"

FIXTURE(open_batch, close_batch)

static struct array array;

/* xid8_recv takes an unsigned number. */
TEST(an_array_of_xid8_is_made_at_once)
{
    static const uint64_t values[] = {1, 0x0102030405060708, UINT64_MAX};
    static const char want[] = "\0\0\0\1"
                               "\0\0\0\0"
                               "\0\0\x13\xcd\0\0\0\3\0\0\0\1" /* 5069 */
                               "\0\0\0\x8\0\0\0\0\0\0\0\1"
                               "\0\0\0\x8\1\2\3\4\5\6\7\x8"
                               "\0\0\0\x8\xff\xff\xff\xff\xff\xff\xff\xff";

    assert_int_equal(batch_array_of_xid8(&array, &batch, values, 3), 0);
    assert_int_equal(array.len, sizeof want - 1);
    assert_memory_equal(array.bytes, want, array.len);
}

TEST(an_array_of_no_xid8_has_no_dimension)
{
    assert_int_equal(batch_array_of_xid8(&array, &batch, NULL, 0), 0);
    assert_int_equal(array.len, 12);
    assert_memory_equal(array.bytes, "\0\0\0\0\0\0\0\0\0\0\x13\xcd", 12);
}

TEST(two_arrays_of_a_batch_do_not_overlap)
{
    struct array other;

    batch_array_begin(&array, &batch, ARRAY_INT4, 1, 4);
    batch_array_begin(&other, &batch, ARRAY_INT4, 1, 4);
    array_add_int4(&other, 2);
    array_add_int4(&array, 1);
    assert_int_equal(array.bytes[array.len - 1], 1);
    assert_int_equal(other.bytes[other.len - 1], 2);
}
