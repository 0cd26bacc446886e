#include "pg/wire.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

TEST(integers_are_read_big_endian)
{
    assert_int_equal(wire_int4("\0\0\0\0"), 0);
    assert_int_equal(wire_int4("\0\0\0\1"), 1);
    assert_int_equal(wire_int4("\x12\x34\x56\x78"), 0x12345678);
    assert_true(wire_int4("\xff\xff\xff\xff") == -1);
    assert_true(wire_int4("\x7f\xff\xff\xff") == INT32_MAX);
    assert_true(wire_int4("\x80\0\0\0") == INT32_MIN);
    assert_true(wire_int8("\0\0\0\0\0\0\0\0") == 0);
    assert_true(wire_int8("\1\2\3\4\5\6\7\x8") == 0x0102030405060708);
    assert_true(wire_int8("\xff\xff\xff\xff\xff\xff\xff\xfe") == -2);
    assert_true(wire_int8("\x7f\xff\xff\xff\xff\xff\xff\xff") == INT64_MAX);
    assert_true(wire_int8("\x80\0\0\0\0\0\0\0") == INT64_MIN);
}

TEST(the_text_of_an_integer_is_read_as_strtoll_reads_it)
{
    static const char *const texts[] = {"0",          "7",      "-1",
                                        "100000",     "-32768", "9223372036854775807",
                                        "2147483648", "10",     "-9223372036854775808"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(wire_integer((struct text){texts[i], strlen(texts[i])}) ==
                    strtoll(texts[i], NULL, 10));
}
