#include "sql/sql.h"
#include "sql/statements.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static int put_number(FILE *out, const void *about)
{
    return fprintf(out, "%d", *(const int *)about) < 0 ? -1 : 0;
}

static int put_name(FILE *out, const void *about, const struct sql_fact *fact)
{
    (void)about;
    return fprintf(out, "<%s>", fact->name) < 0 ? -1 : 0;
}

static int fail_to_put(FILE *out, const void *about)
{
    (void)out;
    (void)about;
    return -1;
}

static int is_so(const void *about, const char *name)
{
    return strcmp(name, "number") == 0 ? *(const int *)about > 0 : -1;
}

static const struct sql_fact lower[] = {
    {"number", .text = "not this one"}, {"table", .text = "\"a {number} b\""}, {.name = NULL}};
static const struct sql_fact upper[] = {{"number", .put = put_number},
                                        {"named", .put_named = put_name},
                                        {"broken", .put = fail_to_put},
                                        {"yes", .text = NULL},
                                        {.name = NULL}};

static void assert_renders(const char *statement, int number, const char *expected)
{
    const struct sql_facts more = {.list = lower};
    const struct sql_facts facts = {.list = upper, .is = is_so, .about = &number, .more = &more};
    char *sql = sql_render(statement, &facts);

    assert_non_null(sql);
    assert_string_equal(sql, expected);
    free(sql);
}

TEST(a_fact_is_replaced_by_its_value_and_a_value_is_never_searched)
{
    assert_renders("-- a comment {number}\n-- and more\nSELECT {number} FROM {table}, {named}\n", 7,
                   "SELECT 7 FROM \"a {number} b\", <named>");
}

TEST(what_is_no_fact_stays_as_it_is)
{
    assert_renders("SELECT '{}', '{1,2}', '{A}', '{ }', '{unknown}'", 1,
                   "SELECT '{}', '{1,2}', '{A}', '{ }', '{unknown}'");
}

TEST(a_variant_is_chosen_by_facts_also_within_another_one)
{
    static const char text[] =
        "{if number}a{if !yes}b{else}c{if missing}d{end}{end}{else}e{if yes}f{end}{end}g";

    assert_renders(text, 1, "acg");
    assert_renders(text, 0, "efg");
}

TEST(a_line_that_is_only_a_variants_leaves_nothing_behind)
{
    static const char text[] = "SELECT a\n"
                               "  {if number}\n"
                               "    , b\n"
                               "  {else}\n"
                               "    {if yes}\n"
                               "    , c\n"
                               "    {end}\n"
                               "  {end}\n"
                               "FROM {if yes}t{end}\n"
                               "{if missing}\n"
                               "WHERE x\n"
                               "{end}\n";

    assert_renders(text, 1, "SELECT a\n    , b\nFROM t");
    assert_renders(text, 0, "SELECT a\n    , c\nFROM t");
}

TEST(a_variant_within_a_line_joins_no_words)
{
    assert_renders("SELECT a{if missing},\n  b\n{end}\nFROM t", 1, "SELECT a\nFROM t");
    assert_renders("SELECT a{if yes},\n  b\n{end}\nFROM t", 1, "SELECT a,\n  b\n\nFROM t");
    assert_renders("{if yes}\nSELECT\n{end}\n", 1, "SELECT");
}

TEST(an_if_or_an_end_alone_makes_no_statement)
{
    static const char *const texts[] = {"DELETE FROM t\n{end}\nWHERE id = 1", "a {else} b",
                                        "SELECT {if yes}1", "SELECT {if missing}1{else}2"};
    const struct sql_facts facts = {.list = upper, .is = is_so, .about = &(int){1}};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(sql_render(texts[i], &facts));
}

TEST(a_shared_file_is_put_in_without_its_comment_and_indented_as_its_line)
{
    const struct sql_facts more = {.list = lower};
    const struct sql_facts facts = {.list = upper, .is = is_so, .about = &(int){1}, .more = &more};
    char *alone = sql_render(statement_count_settled, &facts);
    char *within = sql_render("(\n    {count_settled}\n)", &facts);

    assert_non_null(strstr(within, "(\n    SELECT"));
    assert_null(strstr(within, "\n--"));
    for (const char *at = strchr(within, '\n'); at != NULL && at[1] != ')';
         at = strchr(at + 1, '\n'))
        assert_memory_equal(at + 1, "    ", 4);
    assert_true(strlen(within) > strlen(alone));
    free(alone);
    free(within);
}

TEST(a_value_for_which_there_is_no_memory_makes_no_statement)
{
    const struct sql_facts facts = {.list = upper, .is = is_so, .about = &(int){1}};

    assert_null(sql_render("SELECT {broken}", &facts));
}

TEST(a_condition_holds_if_all_its_facts_do)
{
    const struct sql_facts facts = {.list = upper, .is = is_so, .about = &(int){0}};

    assert_true(sql_holds("", &facts));
    assert_true(sql_holds("yes !number !missing", &facts));
    assert_false(sql_holds("yes number", &facts));
    assert_true(sql_names("levels first", "first"));
    assert_false(sql_names("levels first", "level"));
}
