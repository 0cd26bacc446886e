#include "source/conninfo.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct expected {
    const char *text;
    const char *shown;
};

static void assert_problem(const char *text, const char *expected)
{
    char problem[CONNINFO_PROBLEM_BYTES];
    char *shown = conninfo_hide_secrets(text);

    assert_int_equal(conninfo_check(text, problem), -1);
    assert_string_equal(problem, expected);
    assert_string_equal(shown, "***");
    assert_false(conninfo_has_secret(text));
    free(shown);
}

TEST(secrets_are_hidden_in_either_form)
{
    static const struct expected rows[] = {
        {"", ""},
        {"  ", "  "},
        {"postgresql://", "postgresql://"},
        {"postgresql:///shop", "postgresql:///shop"},
        {"postgresql://h", "postgresql://h"},
        {"postgres://u@h:5432/shop", "postgres://u@h:5432/shop"},
        {"postgresql://u:pw@h/shop", "user=u password=*** dbname=shop host=h"},
        {"postgresql://u:@h/shop", "postgresql://u:@h/shop"},
        {"postgresql://u:p%40w?x@h/shop?sslmode=require",
         "user=u password=*** dbname=shop host=h sslmode=require"},
        {"postgresql://a:1,[::1]:2,c", "postgresql://a:1,[::1]:2,c"},
        {"postgresql://%2Ftmp/shop", "postgresql://%2Ftmp/shop"},
        {"postgresql:///shop?host=h&password=pw&sslmode=disable",
         "password=*** dbname=shop host=h sslmode=disable"},
        {"postgresql://h?p%61ssword=pw&sslpassword=x", "password=*** host=h sslpassword=***"},
        {"postgresql://h?ssl=true", "postgresql://h?ssl=true"},
        {"host=h dbname=shop sslmode=verify-full", "host=h dbname=shop sslmode=verify-full"},
        {"host = h  password = pw", "password=*** host=h"},
        {"password='p w\\'x' host='a b'  dbname=c\\\\\\'d",
         "password=*** dbname='c\\\\\\'d' host='a b'"},
        {"password=p\\ w host=h", "password=*** host=h"},
        {"password= host=h", "password=***"},
        {"password=pw password='' host=h", "password='' host=h"},
        {"password=a password=b", "password=***"},
        {"host=a host=b", "host=a host=b"},
        {"postgresql://u:a%2Fb%3Fc%40d@h/shop", "user=u password=*** dbname=shop host=h"},
        {"postgresql://u@h/shop?application_name=a@b",
         "postgresql://u@h/shop?application_name=a@b"},
        {"postgresql:///shop?sslmode=disable&user=u@tenant&application_name=@",
         "postgresql:///shop?sslmode=disable&user=u@tenant&application_name=@"},
        {"postgresql://u@h/shop?password=can@ary7", "user=u password=*** dbname=shop host=h"},
        {"application_name=a connect_timeout=3 user=u@tenant",
         "application_name=a connect_timeout=3 user=u@tenant"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char problem[CONNINFO_PROBLEM_BYTES];
        char *shown = conninfo_hide_secrets(rows[i].text);

        assert_int_equal(conninfo_check(rows[i].text, problem), 0);
        assert_string_equal(shown, rows[i].shown);
        assert_int_equal(conninfo_has_secret(rows[i].text), strstr(shown, "***") != NULL);
        free(shown);
    }
}

/* A libpq that is too old for one refuses it. */
TEST(what_later_versions_of_libpq_keep_secret_is_never_shown)
{
    static const char *const keywords[] = {"oauth_client_secret", "scram_client_key",
                                           "scram_server_key"};

    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        char text[64];
        char *shown;

        (void)snprintf(text, sizeof text, "host=h %s=canary7", keywords[i]);
        shown = conninfo_hide_secrets(text);
        assert_non_null(strstr(shown, "***"));
        assert_null(strstr(shown, "canary7"));
        free(shown);
    }
}

TEST(what_is_no_connection_string_is_refused_and_masked_as_a_whole)
{
    static const char *const texts[] = {"shop",    "hunter2 host=h",  "=x",
                                        "host='h", "password='a\\'",  "postgresql://h?password",
                                        "host h",  "mysql://u:pw@h/x"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_problem(texts[i], "not a connection string; use \"postgresql://USER@HOST/DATABASE\""
                                 " or \"host=HOST dbname=DATABASE\"");
    }
}

#define STRAY_AT                                                                                   \
    "an \"@\" that separates nothing; percent-encode /, ? and @ in the password (%2F, %3F, %40)"

TEST(an_at_sign_too_many_is_refused_because_it_cuts_a_password_in_two)
{
    static const char *const texts[] = {"postgresql://u:can/ary7@localhost/db?sslmode=disable",
                                        "postgresql://u:can@ary7@localhost",
                                        "postgres://u:can@ary7@localhost/db",
                                        "postgresql://u:c/an?ary7@localhost/db?sslmode=disable",
                                        "postgresql://u:c/a?host=n@ary7",
                                        "postgresql://u@h/db?host=can@ary7",
                                        "postgresql://u@h/db?hostaddr=can@ary7",
                                        "postgresql://u@h/db?user=u&can@ary7=x",
                                        "postgresql://u:can@ary7@h/db?application_name=a@b",
                                        "postgresql:///@"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_problem(texts[i], STRAY_AT);
}

TEST(a_keyword_that_libpq_does_not_know_is_refused_and_only_the_nearest_is_named)
{
    static const char *const rows[][2] = {
        {"host=localhost pasword=canary7", "password"},
        {"host=localhost Password=canary7", "password"},
        {"hots=localhost", "host"},
        {"password=can ssl-mode=ary7", "sslmode"},
        {"postgresql://localhost/db?pasword=canary7", "password"},
        {"postgresql://localhost/db?sslpasword=canary7&x=y", "sslpassword"},
        {"host=h sslmod=require", "sslmode"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char problem[160];

        (void)snprintf(problem, sizeof problem,
                       "a keyword that libpq does not know; the nearest that it does is \"%s\"",
                       rows[i][1]);
        assert_problem(rows[i][0], problem);
    }
    assert_problem("postgresql://h?ssl=canary7", "a keyword that libpq does not know; the nearest"
                                                 " that it does is \"sslmode\"");
}

/* libpq would say so at each connection, for ever. */
TEST(a_port_or_an_sslmode_that_cannot_be_is_refused_and_not_repeated)
{
    static const char *const ports[] = {"port=99999999",
                                        "port=0",
                                        "port=-1",
                                        "port=canary7",
                                        "port=5432x",
                                        "port=5432,x,5433",
                                        "port=65536",
                                        "port=' '",
                                        "postgresql://u:canary7/db",
                                        "postgresql://a:1,b:99999/db",
                                        "postgresql://h:1%202",
                                        "postgresql://h?port=99999999999999999999"};
    static const char *const modes[] = {"sslmode=bogus", "sslmode=", "sslmode=Require",
                                        "postgresql://h?sslmode=verify_full"};
    static const char *const good[] = {"port=1",
                                       "port=65535",
                                       "port=5432,,5433",
                                       "port=''",
                                       "port=' +05432 '",
                                       "postgresql://h:/db",
                                       "postgresql://a:,b:5433",
                                       "postgresql://h?port=5432,",
                                       "sslmode=allow",
                                       "sslmode=verify-ca",
                                       "postgresql://h:%35432"};
    char problem[CONNINFO_PROBLEM_BYTES];

    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++)
        assert_problem(ports[i], "a port must be from 1 to 65535");
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        assert_problem(modes[i], "sslmode must be disable, allow, prefer, require, verify-ca or"
                                 " verify-full");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(conninfo_check(good[i], problem), 0);
}
