#include "unit/config/parsed.h"
#include "unit/pg_environment.h"

ONCE(forget_pg_environment, NULL)

#define STRAY_AT                                                                                   \
    "an \"@\" that separates nothing; percent-encode /, ? and @ in the password (%2F, %3F, %40)"

#define AT "relay.toml:6:1: url: "
#define DOWNGRADE(mode)                                                                            \
    AT "with sslmode=" mode                                                                        \
       " an attacker on the network can turn encryption off; write sslmode=verify-full, or "       \
       "sslmode=disable to say that this network is trusted"
#define IN_THE_CLEAR(mode)                                                                         \
    AT "with sslmode=" mode                                                                        \
       " the password could be read on its way to another host; write sslmode=verify-full, or "    \
       "allow_plaintext = true to say that this network is trusted"
#define UNVERIFIED                                                                                 \
    AT "sslmode=require does not verify the server, so that an attacker on the network could "     \
       "read and change everything; write sslmode=verify-full and sslrootcert=FILE"
#define TRUSTED                                                                                    \
    AT "sslmode=disable trusts the network; if it is not trusted, write sslmode=verify-full"

static void assert_only_warning(const char *text, const char *line)
{
    struct parsed *parsed = parse_accepted(text);

    assert_int_equal(parsed->problems.warning_count, line != NULL);
    if (line != NULL)
        assert_string_equal(parsed->problems.warnings[0], line);
    free_parsed(parsed);
}

TEST(a_host_that_is_not_local_needs_an_sslmode)
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

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        char text[256];

        (void)snprintf(text, sizeof text, MINIMAL "[database]\nurl = \"%s\"\n", urls[i].url);
        if (urls[i].problem != NULL)
            assert_only_problem(text, urls[i].problem);
        else
            assert_only_warning(text, urls[i].warning);
    }
}

TEST(a_password_of_a_file_is_one_too)
{
    assert_only_problem(MINIMAL "[database]\nurl = \"host=db sslmode=disable\"\n"
                                "password_file = \"/x\"\n",
                        IN_THE_CLEAR("disable"));
}

TEST(a_key_says_that_the_network_is_trusted)
{
    assert_only_warning(MINIMAL "[database]\nurl = \"host=db password=p sslmode=disable\"\n"
                                "allow_plaintext = true\n",
                        AT "sslmode=disable trusts the network (allow_plaintext = true)");
    assert_only_warning(MINIMAL "[database]\nurl = \"host=db\"\nallow_plaintext = true\n",
                        AT "sslmode=prefer trusts the network (allow_plaintext = true)");
    assert_only_warning(MINIMAL "[database]\nurl = \"host=localhost\"\nallow_plaintext = true\n",
                        NULL);
}

TEST(the_environment_says_what_the_url_leaves_out)
{
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

TEST(a_malformed_url_is_refused_and_not_shown)
{
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

TEST(a_password_stands_in_one_place_only)
{
    assert_only_problem(MINIMAL "[database]\nurl = \"postgresql://u:hunter2@localhost\"\n"
                                "password_file = \"/x\"\n",
                        "relay.toml:7:1: password_file: the url contains a password too; "
                        "keep only one of them");
}
