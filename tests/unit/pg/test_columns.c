#include "pg/wire.h"
#include "test.h"

/* Checks a result with two columns against the first `count` of three names. */
static int check(char *first, char *second, int count, struct error *error)
{
    static const char *const names[] = {"id", "topic", "key"};
    PGresAttDesc columns[] = {{.name = first}, {.name = second}};
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    int status;

    assert_int_equal(PQsetResultAttrs(result, 2, columns), 1);
    status = wire_check_columns(result, names, count, error);
    PQclear(result);
    return status;
}

TEST(a_result_is_read_only_if_its_columns_have_the_names_in_their_order)
{
    struct error error;

    (void)state;
    assert_int_equal(check("id", "topic", 2, &error), 0);
    assert_int_equal(check("id", "more than is read", 1, &error), 0);
    assert_int_equal(check("topic", "id", 2, &error), -1);
    assert_string_equal(error.text, "column 1 of a statement's result is topic instead of id");
    assert_int_equal(check("id", "key", 2, &error), -1);
    assert_string_equal(error.text, "column 2 of a statement's result is key instead of topic");
    assert_int_equal(check("id", "topic", 3, &error), -1);
    assert_string_equal(error.text, "column 3 of a statement's result is missing instead of key");
}
