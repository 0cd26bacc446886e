#include "catalog/sql_text.h"
#include "test.h"

#include <stdlib.h>

TEST(what_the_server_shows_of_an_index_is_what_was_written)
{
    static const char *const pairs[][2] = {
        {"hashtextextended(key, 0::bigint), seq", "pg_catalog.hashtextextended(key::text, 0), seq"},
        {"hashtextextended(encode(key, 'hex'::text), 0::bigint)",
         "pg_catalog.hashtextextended(pg_catalog.encode(key, 'hex'), 0)"},
        {"hashtextextended(key, 0::bigint), id",
         "pg_catalog.hashtextextended(key::pg_catalog.text, 0), id"},
        {"waits_for, due, seq", "waits_for, due, seq"},
        {"\"Key\"::text", "\"Key\""},
        {"COALESCE(\"my key\"::text, \"::text\"::text)", "COALESCE(\"my key\", \"::text\")"},
        {"hashtext(gr\xC3\xB6\xC3\x9F"
         "e)",
         "pg_catalog.hashtext(\"gr\xC3\xB6\xC3\x9F"
         "e\")"},
        {"", ""},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_true(sql_expression_equal(pairs[i][0], pairs[i][1]));
}

TEST(parentheses_numbers_names_and_order_count)
{
    static const char *const pairs[][2] = {
        {"(a & 3) % 64", "a & (3 % 64)"},
        {"a % 64", "a % 6"},
        {"a % 64", "a % 32"},
        {"\"Key\"", "key"},
        {"\"my key\"", "mykey"},
        {"\"a::text\"", "a"},
        {"\"pg_catalog.a\"", "a"},
        {"\"(\"", "("},
        {"waits_for, due, seq", "waits_for, seq, due"},
        {"key", ""},
        {"encode(key, 'hex'::text)", "encode(key, 'base64')"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_false(sql_expression_equal(pairs[i][0], pairs[i][1]));
}

/* As PostgreSQL 15 shows them; the first argument is the type of the key. */
static void assert_slice_shown(const char *type, const char *shown)
{
    struct table table = {.columns = {[COLUMN_ID] = {.quoted = "\"id\"", .type = "bigint"},
                                      [COLUMN_KEY] = {.quoted = "\"key\""}}};
    struct writer writer;
    char *written;

    (void)snprintf(table.columns[COLUMN_KEY].type, sizeof table.columns[COLUMN_KEY].type, "%s",
                   type);
    assert_true(writer_begin(&writer));
    sql_put_slice(writer.out, &table, 64, false);
    written = writer_end(&writer);
    assert_non_null(written);
    assert_true(sql_expression_equal(shown, written));
    free(written);
}

/* As PostgreSQL shows them: in quotes only where it must. */
TEST(an_expression_with_quoted_names_is_recognised)
{
    assert_true(sql_expression_equal("(hashtext(\"a \"\"b\"\"\") & 1)",
                                     "(pg_catalog.hashtext(\"a \"\"b\"\"\"::text) & 1)"));
    assert_true(sql_expression_equal("key", "\"key\""));
    assert_false(sql_expression_equal("\"a\"\"b\"", "\"a\"\"c\""));
    assert_false(sql_expression_equal("\"a\"\"b\"", "\"a\""));
}

TEST(the_slice_of_every_type_of_key_is_recognised)
{
    assert_slice_shown("text", "((hashtext(COALESCE(key, id::text)) & 2147483647) % 64)");
    assert_slice_shown("character varying(40)",
                       "((hashtext(COALESCE(key::text, id::text)) & 2147483647) % 64)");
    assert_slice_shown("uuid", "((hashtext(COALESCE(key::text, id::text)) & 2147483647) % 64)");
    assert_slice_shown(
        "bytea", "((hashtext(COALESCE(encode(key, 'hex'::text), id::text)) & 2147483647) % 64)");
    assert_slice_shown("", "((hashtext(id::text) & 2147483647) % 64)");
}

TEST(an_array_quotes_each_element)
{
    const char *const words[] = {"1", "", "a\"b\\c", "{,}", "NULL", "'"};
    char *array = sql_text_array(words, 6);

    assert_non_null(array);
    assert_string_equal(array, "{\"1\",\"\",\"a\\\"b\\\\c\",\"{,}\",\"NULL\",\"'\"}");
    free(array);
}
