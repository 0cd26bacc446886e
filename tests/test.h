#ifndef TESTS_TEST_H
#define TESTS_TEST_H

/* cmocka, and the headers that it wants before its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/*
 * A test is a function that runs because it is there:
 *
 *     FIXTURE(set_up, tear_down)          before and after each test of the file, or NULL
 *     ONCE(open_library, close_library)   before the first and after the last one
 *
 *     TEST(what_is_put_in_comes_out)
 *     {
 *         assert_int_equal(...);
 *     }
 *
 *     TEST_WITH(another_fixture_than_that_of_the_file, set_up_other, tear_down)
 *     {
 *     }
 *
 * tests/main.c runs those of a file in their order.
 */
#define TEST(name) TEST_REGISTER(name, TEST_OF_FILE, NULL, NULL)
#define TEST_WITH(name, before, after) TEST_REGISTER(name, TEST_ALONE, before, after)
/* Of a test that begins with what the fixture has made, `given`: "struct job *job". */
#define TEST_GIVEN(given, name)                                                                    \
    static void name##_given(given);                                                               \
    TEST(name)                                                                                     \
    {                                                                                              \
        name##_given(*state);                                                                      \
    }                                                                                              \
    static void name##_given(given)
#define TEST_GIVEN_WITH(given, name, before, after)                                                \
    static void name##_given(given);                                                               \
    TEST_WITH(name, before, after)                                                                 \
    {                                                                                              \
        name##_given(*state);                                                                      \
    }                                                                                              \
    static void name##_given(given)
/* The same test once more, with another fixture. */
#define TEST_AGAIN(name, before, after) TEST_ENTRY_AT(__LINE__, name, before, after)
#define FIXTURE(before, after) TEST_REGISTER_AROUND(each, TEST_EACH, before, after)
#define ONCE(before, after) TEST_REGISTER_AROUND(once, TEST_ONCE, before, after)

enum test_kind {
    TEST_OF_FILE, /* it has the fixture of its file */
    TEST_ALONE,
    TEST_EACH, /* no test, but the fixture of those of the file */
    TEST_ONCE,
};

struct test {
    const char *file; /* what the compiler was called with, also where a header registers */
    int line;
    enum test_kind kind;
    struct CMUnitTest test;
    struct test *next;
};

/* The entry is static. */
void test_register(struct test *entry);

#define TEST_ENTRY(id, kind, name, run, before, after)                                             \
    __attribute__((constructor)) static void register_##id(void)                                   \
    {                                                                                              \
        static struct test entry = {                                                               \
            __BASE_FILE__, __LINE__, kind, {name, run, before, after, NULL}, NULL};                \
                                                                                                   \
        test_register(&entry);                                                                     \
    }

#define TEST_REGISTER(name, kind, before, after)                                                   \
    static void name(void **state);                                                                \
    TEST_ENTRY(name, kind, #name, name, before, after)                                             \
    static void name(__attribute__((unused)) void **state)

#define TEST_ENTRY_AT(line, name, before, after) TEST_ENTRY_AT_LINE(line, name, before, after)
#define TEST_ENTRY_AT_LINE(line, name, before, after)                                              \
    TEST_ENTRY(name##_##line, TEST_ALONE, #name, name, before, after)

#define TEST_REGISTER_AROUND(id, kind, before, after) TEST_ENTRY(id, kind, #id, NULL, before, after)

#endif
