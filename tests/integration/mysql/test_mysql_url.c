/* What a url says; no server is needed. */
#include "test.h"

#include "mysql/url.h"
#include "source/conninfo.h"

#include <stdlib.h>
#include <string.h>

static void assert_problem(const char *text, const char *words)
{
    char problem[CONNINFO_PROBLEM_BYTES];

    assert_int_equal(conninfo_check(text, problem), -1);
    if (strstr(problem, words) == NULL)
        fail_msg("%s: %s", text, problem);
}

TEST(a_url_has_a_user_hosts_a_database_and_options)
{
    char problem[URL_PROBLEM_BYTES];
    struct url url;

    (void)state;
    assert_int_equal(
        url_parse(&url,
                  "mysql://re%6cay:p%40ss%3aword@db-1:3307,[::1],db-2/shop?ssl-ca=/etc/ca%20x.pem",
                  problem),
        0);
    assert_string_equal(url.user, "relay");
    assert_string_equal(url.password, "p@ss:word");
    assert_int_equal(url.host_count, 3);
    assert_string_equal(url.hosts[0], "db-1");
    assert_int_equal(url.ports[0], 3307);
    assert_string_equal(url.hosts[1], "::1");
    assert_int_equal(url.ports[1], 3306);
    assert_string_equal(url.hosts[2], "db-2");
    assert_string_equal(url.database, "shop");
    assert_string_equal(url.ssl_ca, "/etc/ca x.pem");
    assert_true(url.is_remote);
    assert_true(url.is_encrypted);
    url_free(&url);
    assert_int_equal(url_parse(&url, "mysql://u@/shop?socket=/run/s.sock", problem), 0);
    assert_null(url.password);
    assert_string_equal(url.socket, "/run/s.sock");
    assert_false(url.is_encrypted);
    url_free(&url);
    assert_int_equal(url_parse(&url, "mysql://u@127.0.0.1/shop", problem), 0);
    assert_false(url.is_remote);
    assert_false(url.is_encrypted);
    url_free(&url);
}

TEST(what_is_no_url_is_refused_without_a_word_of_it)
{
    (void)state;
    assert_problem("postgresql://u@h/d", "mysql://");
    assert_problem("mysql://u:p@ss@h/d", "percent-encoded");
    assert_problem("mysql://h/d", "percent-encoded");
    assert_problem("mysql://u@h", "percent-encoded");
    assert_problem("mysql://u@h/", "a database");
    assert_problem("mysql://@h/d", "a user");
    assert_problem("mysql://u:%zz@h/d", "percent-encoded");
    assert_problem("mysql://u:%00@h/d", "percent-encoded");
    assert_problem("mysql://u@h:0/d", "port");
    assert_problem("mysql://u@h:70000/d", "port");
    assert_problem("mysql://u@h:33x/d", "port");
    assert_problem("mysql://u@[::1/d", "bracket");
    assert_problem("mysql://u@/d", "a host or a socket");
    assert_problem("mysql://u@h/d?socket=/s", "a host or a socket");
    assert_problem("mysql://u@h,,i/d", "a host that is empty");
    assert_problem("mysql://u@h/d?ssl-mode=PREFERRED", "ssl-mode");
    assert_problem("mysql://u@h/d?password=x", "unknown option");
    assert_problem("mysql://u@h/d?ssl-ca", "without a value");
    assert_problem("mysql://u@a,b,c,d,e,f,g,h,i/d", "more than eight");
}

TEST(a_password_is_not_shown)
{
    char *shown;

    (void)state;
    assert_true(conninfo_has_secret("mysql://u:secret@h/d"));
    assert_false(conninfo_has_secret("mysql://u@h/d"));
    shown = conninfo_hide_secrets("mysql://u:se%40cret@h:3307/d?ssl-ca=/x");
    assert_string_equal(shown, "mysql://u:***@h:3307/d?ssl-ca=/x");
    free(shown);
    shown = conninfo_hide_secrets("mysql://u:se@cret@h/d");
    assert_string_equal(shown, "***");
    free(shown);
    shown = conninfo_hide_secrets("mysql://u@h:3307/d");
    assert_string_equal(shown, "mysql://u@h:3307/d");
    free(shown);
}

TEST(no_password_goes_over_a_network_without_tls)
{
    char problem[CONNINFO_PROBLEM_BYTES];

    (void)state;
    assert_int_equal(conninfo_check_transport("mysql://u:p@h/d", false, false, problem), 0);
    assert_int_equal(
        conninfo_check_transport("mysql://u:p@h/d?ssl-mode=DISABLED", false, false, problem), -1);
    assert_int_equal(
        conninfo_check_transport("mysql://u@h/d?ssl-mode=disabled", true, false, problem), -1);
    assert_int_equal(
        conninfo_check_transport("mysql://u:p@h/d?ssl-mode=DISABLED", false, true, problem), 1);
    assert_int_equal(conninfo_check_transport("mysql://u:p@localhost/d", false, false, problem), 0);
}
