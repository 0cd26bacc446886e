#include "unit/config/parsed.h"

#include "config/check/conninfo.h"

struct expected {
    const char *text;
    const char *masked;
};

static void secrets_are_found_in_either_form(void **state)
{
    static const struct expected rows[] = {
        {"", ""},
        {"  ", "  "},
        {"postgresql://", "postgresql://"},
        {"postgresql:///shop", "postgresql:///shop"},
        {"postgresql://h", "postgresql://h"},
        {"postgres://u@h:5432/shop", "postgres://u@h:5432/shop"},
        {"postgresql://u:pw@h/shop", "postgresql://u:***@h/shop"},
        {"postgresql://u:@h/shop", "postgresql://u:@h/shop"},
        {"postgresql://u:p%40w?x@h/shop?sslmode=require",
         "postgresql://u:***@h/shop?sslmode=require"},
        {"postgresql://a:1,[::1]:2,c", "postgresql://a:1,[::1]:2,c"},
        {"postgresql://%2Ftmp/shop", "postgresql://%2Ftmp/shop"},
        {"postgresql:///shop?host=h&password=pw&sslmode=disable",
         "postgresql:///shop?host=h&password=***&sslmode=disable"},
        {"postgresql://h?p%61ssword=pw&sslpassword=x",
         "postgresql://h?p%61ssword=***&sslpassword=***"},
        {"postgresql://h?ssl=true", "postgresql://h?ssl=true"},
        {"host=h dbname=shop sslmode=verify-full", "host=h dbname=shop sslmode=verify-full"},
        {"host = h  password = pw", "host = h  password = ***"},
        {"password='p w\\'x' host='a,b'", "password='***' host='a,b'"},
        {"password=p\\ w host=h", "password=*** host=h"},
        {"password= host=h", "password= ***"},
        {"host=a host=b", "host=a host=b"},
        {"postgresql://u:a%2Fb%3Fc%40d@h/shop", "postgresql://u:***@h/shop"},
        {"postgresql://h/shop?oauth_client_secret=a&scram_client_key=b",
         "postgresql://h/shop?oauth_client_secret=***&scram_client_key=***"},
        {"application_name=a connect_timeout=3 load_balance_hosts=random user=u@tenant",
         "application_name=a connect_timeout=3 load_balance_hosts=random user=u@tenant"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct conninfo conninfo;
        char *masked = conninfo_mask(rows[i].text);

        assert_int_equal(conninfo_parse(&conninfo, rows[i].text), 0);
        assert_string_equal(masked, rows[i].masked);
        free(masked);
    }
}

static void what_is_no_connection_string_is_refused_and_masked_as_a_whole(void **state)
{
#define FIVE_PASSWORDS "password=a password=b password=c password=d password=e"
    static const char *const texts[] = {"shop",    "hunter2 host=h",   "=x",
                                        "host='h", "password='a\\'",   "postgresql://h?password",
                                        "host h",  "mysql://u:pw@h/x", FIVE_PASSWORDS};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct conninfo conninfo;
        char *masked = conninfo_mask(texts[i]);

        assert_int_equal(conninfo_parse(&conninfo, texts[i]), -1);
        assert_string_equal(masked, "***");
        free(masked);
    }
}

static void assert_problem(const char *text, const char *problem)
{
    struct conninfo conninfo;
    char *masked = conninfo_mask(text);

    assert_int_equal(conninfo_parse(&conninfo, text), -1);
    assert_string_equal(conninfo.problem, problem);
    assert_string_equal(masked, "***");
    free(masked);
}

#define STRAY_AT                                                                                   \
    "an \"@\" that separates nothing; percent-encode /, ? and @ in the password (%2F, %3F, %40)"

static void an_at_sign_too_many_is_refused_because_it_cuts_a_password_in_two(void **state)
{
    static const char *const texts[] = {"postgresql://u:can/ary7@localhost/db?sslmode=disable",
                                        "postgresql://u:can@ary7@localhost",
                                        "postgres://u:can@ary7@localhost/db",
                                        "postgresql://u:c/an?ary7@localhost/db?sslmode=disable",
                                        "postgresql://u:c/a?host=n@ary7",
                                        "postgresql://u@h/db?user=can@ary7",
                                        "postgresql:///@"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_problem(texts[i], STRAY_AT);
}

static void
a_keyword_that_libpq_does_not_know_is_refused_and_only_the_nearest_is_named(void **state)
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

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char problem[160];

        (void)snprintf(problem, sizeof problem,
                       "a keyword that libpq does not know; the nearest that it does is \"%s\"",
                       rows[i][1]);
        assert_problem(rows[i][0], problem);
    }
    assert_problem("postgresql://h?ssl=canary7", "ssl may only be true; use sslmode");
}

/* libpq would say so at each connection, for ever. */
static void a_port_or_an_sslmode_that_cannot_be_is_refused_and_not_repeated(void **state)
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
    struct conninfo conninfo;

    (void)state;
    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++)
        assert_problem(ports[i], "a port must be from 1 to 65535");
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        assert_problem(modes[i], "sslmode must be disable, allow, prefer, require, verify-ca or"
                                 " verify-full");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(conninfo_parse(&conninfo, good[i]), 0);
}

static void a_long_list_of_hosts_is_parsed_to_its_end(void **state)
{
    char *text = calloc(9001, 1);
    struct conninfo conninfo;

    (void)state;
    assert_non_null(text);
    memcpy(text, "postgresql://", 13);
    for (size_t i = 13; i < 9000; i += 2)
        memcpy(text + i, "h,", 2);
    text[9000] = '\0';
    assert_int_equal(conninfo_parse(&conninfo, text), 0);
    free(text);
}

#define AT "relay.toml:6:1: url: "
#define DOWNGRADE(mode)                                                                            \
    AT "with sslmode=" mode " whoever is in between can turn encryption off; write "               \
       "sslmode=verify-full, or sslmode=disable to say that this network is trusted"
#define IN_THE_CLEAR(mode)                                                                         \
    AT "with sslmode=" mode " the password could be read on its way to a host that is not local; " \
       "write sslmode=verify-full, or allow_plaintext = true to say that this network is trusted"
#define UNVERIFIED                                                                                 \
    AT "sslmode=require does not tell the server from one in between, which could read and "       \
       "change everything; write sslmode=verify-full and sslrootcert=FILE"
#define TRUSTED AT "sslmode=disable trusts the network; elsewhere write sslmode=verify-full"

static void assert_only_warning(const char *text, const char *line)
{
    struct parsed *parsed = parse_accepted(text);

    assert_int_equal(parsed->problems.warning_count, line != NULL);
    if (line != NULL)
        assert_string_equal(parsed->problems.warnings[0], line);
    free_parsed(parsed);
}

static void a_host_that_is_not_local_needs_an_sslmode(void **state)
{
    static const struct {
        const char *url;
        const char *problem;
        const char *warning;
    } urls[] = {
        {"", NULL, NULL},
        {"postgresql://u:p@localhost/shop", NULL, NULL},
        {"postgresql://127.0.0.1,[::1]/shop?password=p&sslmode=disable", NULL, NULL},
        {"host=/tmp password=p", NULL, NULL},
        {"postgresql://u:p@db/shop?sslmode=verify-full", NULL, NULL},
        {"host=db sslmode=verify-ca", NULL, NULL},
        {"host=db sslmode=require sslrootcert=/ca.pem", NULL, NULL},
        {"host=db password=p gssencmode=require", NULL, NULL},
        {"host=db password=p sslmode=require", NULL, UNVERIFIED},
        {"postgresql://db/shop?sslmode=disable", NULL, TRUSTED},
        {"postgresql://db/shop", DOWNGRADE("prefer"), NULL},
        {"postgresql://db/shop?sslmode=prefer", DOWNGRADE("prefer"), NULL},
        {"host=db sslmode=allow", DOWNGRADE("allow"), NULL},
        {"host=localhost,db", IN_THE_CLEAR("prefer"), NULL},
        {"host=localhost hostaddr=10.0.0.1", DOWNGRADE("prefer"), NULL},
        {"postgresql:///shop?host=db", DOWNGRADE("prefer"), NULL},
        {"postgresql://u:p@db/shop", IN_THE_CLEAR("prefer"), NULL},
        {"host=db password=p sslmode=allow", IN_THE_CLEAR("allow"), NULL},
        {"host=db password=p sslmode=disable", IN_THE_CLEAR("disable"), NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        char text[256];

        (void)snprintf(text, sizeof text, MINIMAL "[database]\nurl = \"%s\"\n", urls[i].url);
        if (urls[i].problem != NULL)
            assert_only_problem(text, urls[i].problem);
        else
            assert_only_warning(text, urls[i].warning);
    }
}

static void a_password_of_a_file_is_one_too(void **state)
{
    (void)state;
    assert_only_problem(MINIMAL "[database]\nurl = \"host=db sslmode=disable\"\n"
                                "password_file = \"/x\"\n",
                        IN_THE_CLEAR("disable"));
}

static void a_key_says_that_the_network_is_trusted(void **state)
{
    (void)state;
    assert_only_warning(MINIMAL "[database]\nurl = \"host=db password=p sslmode=disable\"\n"
                                "allow_plaintext = true\n",
                        AT "sslmode=disable trusts the network (allow_plaintext = true)");
    assert_only_warning(MINIMAL "[database]\nurl = \"host=db\"\nallow_plaintext = true\n",
                        AT "sslmode=prefer trusts the network (allow_plaintext = true)");
    assert_only_warning(MINIMAL "[database]\nurl = \"host=localhost\"\nallow_plaintext = true\n",
                        NULL);
}

static void the_environment_says_what_the_url_leaves_out(void **state)
{
    (void)state;
    (void)setenv("PGSSLMODE", "verify-full", 1);
    assert_accepted(MINIMAL "[database]\nurl = \"host=db\"\n");
    assert_only_problem(MINIMAL "[database]\nurl = \"host=db sslmode=prefer\"\n",
                        DOWNGRADE("prefer"));
    (void)setenv("PGSSLMODE", "prefer", 1);
    assert_only_problem(MINIMAL "[database]\nurl = \"host=db\"\n", DOWNGRADE("prefer"));
    (void)setenv("PGPASSWORD", "p", 1);
    assert_only_problem(MINIMAL "[database]\nurl = \"host=db\"\n", IN_THE_CLEAR("prefer"));
    assert_int_equal(unsetenv("PGPASSWORD"), 0);
    assert_int_equal(unsetenv("PGSSLMODE"), 0);
    (void)setenv("PGHOST", "db", 1);
    assert_only_problem(MINIMAL "[database]\nurl = \"dbname=shop\"\n", DOWNGRADE("prefer"));
    assert_accepted(MINIMAL "[database]\nurl = \"host=localhost\"\n");
    assert_int_equal(unsetenv("PGHOST"), 0);
}

static void a_malformed_url_is_refused_and_not_shown(void **state)
{
    (void)state;
    assert_only_problem(MINIMAL "[database]\nurl = \"postgresql://localhost:99999999/shop\"\n",
                        "relay.toml:6:1: url: a port must be from 1 to 65535");
    assert_only_problem(MINIMAL "[database]\nurl = \"hunter2\"\n",
                        "relay.toml:6:1: url: not a connection string; use "
                        "\"postgresql://USER@HOST/DATABASE\" or \"host=HOST dbname=DATABASE\"");
    assert_only_problem(MINIMAL "[database]\nurl = [\"hunter2\"]\n",
                        "relay.toml:6:1: url: expected a string, got a list");
    assert_only_problem(MINIMAL "[database]\nurl = \"postgresql://u:hun/ter2@localhost/x\"\n",
                        "relay.toml:6:1: url: " STRAY_AT);
    assert_only_problem(MINIMAL "[database]\nurl = \"host=localhost pasword=hunter2\"\n",
                        "relay.toml:6:1: url: a keyword that libpq does not know; the nearest "
                        "that it does is \"password\"");
    assert_not_shown(MINIMAL "[database]\nurl = \"postgresql://u:hunter2@db/x\"\n", "hunter2");
}

static void a_password_of_the_environment_has_to_be_percent_encoded_too(void **state)
{
    (void)state;
    (void)setenv("PASSWORD", "hun/ter2", 1);
    assert_only_problem(MINIMAL "[database]\nurl = \"postgresql://u:${PASSWORD}@localhost/x\"\n",
                        "relay.toml:6:1: url: " STRAY_AT);
    (void)setenv("PASSWORD", "hun%2Fter2", 1);
    assert_accepted(MINIMAL "[database]\nurl = \"postgresql://u:${PASSWORD}@localhost/x\"\n");
    assert_int_equal(unsetenv("PASSWORD"), 0);
}

static void a_password_stands_in_one_place_only(void **state)
{
    (void)state;
    assert_only_problem(MINIMAL "[database]\nurl = \"postgresql://u:hunter2@localhost\"\n"
                                "password_file = \"/x\"\n",
                        "relay.toml:7:1: password_file: the url holds a password too; keep one of "
                        "them");
}

int main(void)
{
    static const char *const inherited[] = {"PGSSLMODE",  "PGHOST",     "PGHOSTADDR",
                                            "PGPASSWORD", "PGPASSFILE", "PGSERVICE"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_found_in_either_form),
        cmocka_unit_test(what_is_no_connection_string_is_refused_and_masked_as_a_whole),
        cmocka_unit_test(an_at_sign_too_many_is_refused_because_it_cuts_a_password_in_two),
        cmocka_unit_test(
            a_keyword_that_libpq_does_not_know_is_refused_and_only_the_nearest_is_named),
        cmocka_unit_test(a_port_or_an_sslmode_that_cannot_be_is_refused_and_not_repeated),
        cmocka_unit_test(a_long_list_of_hosts_is_parsed_to_its_end),
        cmocka_unit_test(a_host_that_is_not_local_needs_an_sslmode),
        cmocka_unit_test(a_password_of_a_file_is_one_too),
        cmocka_unit_test(a_key_says_that_the_network_is_trusted),
        cmocka_unit_test(the_environment_says_what_the_url_leaves_out),
        cmocka_unit_test(a_malformed_url_is_refused_and_not_shown),
        cmocka_unit_test(a_password_of_the_environment_has_to_be_percent_encoded_too),
        cmocka_unit_test(a_password_stands_in_one_place_only),
    };

    for (size_t i = 0; i < sizeof inherited / sizeof *inherited; i++)
        (void)unsetenv(inherited[i]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
