#include "pg/transport.h"
#include "test.h"
#include "unit/pg_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/test_transport.XXXXXX";

static int make_file(void **state)
{
    (void)forget_pg_environment(state);
    return close(mkstemp(path));
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

ONCE(make_file, remove_file)

/* A file that libpq finds by this variable. */
static void write_file(const char *variable, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(setenv(variable, path, 1), 0);
}

static struct transport resolve(const char *url)
{
    struct transport transport;

    assert_int_equal(transport_resolve(&transport, url), 0);
    return transport;
}

TEST(local_hosts_are_distinguished_from_remote_ones)
{
    static const char *const local[] = {"",    "localhost", "LocalHost", "127.0.0.1", "127.1.2.3",
                                        "::1", "[::1]",     "/tmp",      "@abstract", "/a,::1,"};
    static const char *const remote[] = {"db",
                                         "10.0.0.1",
                                         "localhost.example.com",
                                         "127.0.0.1.example.com",
                                         "localhost,db",
                                         "db,localhost",
                                         "::2",
                                         "128.0.0.1",
                                         "localhos"};

    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
        assert_false(transport_is_remote(local[i]));
    for (size_t i = 0; i < sizeof remote / sizeof remote[0]; i++)
        assert_true(transport_is_remote(remote[i]));
}

TEST(what_a_service_file_says_counts)
{
    write_file("PGSERVICEFILE", "[open]\nhost=db\nsslmode=disable\npassword=p\n"
                                "[safe]\nhost=db\nsslmode=verify-full\n"
                                "[here]\nhost=/tmp\n");
    assert_int_equal(resolve("service=open").risk, TRANSPORT_UNENCRYPTED);
    assert_true(resolve("service=open").has_password);
    assert_string_equal(resolve("service=open").sslmode, "disable");
    assert_int_equal(resolve("service=safe").risk, TRANSPORT_SAFE);
    assert_int_equal(resolve("service=here").risk, TRANSPORT_SAFE);
    assert_int_equal(resolve("service=here host=db").risk, TRANSPORT_UNENCRYPTED);
    assert_int_equal(resolve("service=safe sslmode=require").risk, TRANSPORT_UNVERIFIED);
    (void)setenv("PGSERVICE", "open", 1);
    assert_int_equal(resolve("").risk, TRANSPORT_UNENCRYPTED);
    (void)unsetenv("PGSERVICE");
    (void)unsetenv("PGSERVICEFILE");
}

TEST(a_password_in_the_pass_file_counts)
{
    write_file("PGPASSFILE", "db:*:*:*:p\n");
    assert_int_equal(chmod(path, 0600), 0);
    assert_true(resolve("host=db").has_password);
    assert_false(resolve("host=other").has_password);
    (void)unsetenv("PGPASSFILE");
    assert_false(resolve("host=db passfile=/nowhere").has_password);
}

TEST(one_of_several_hosts_may_have_a_password_in_the_pass_file)
{
    write_file("PGPASSFILE", "db:*:*:*:p\n");
    assert_int_equal(chmod(path, 0600), 0);
    assert_true(resolve("host=other,db sslmode=disable").has_password);
    assert_false(resolve("host=other,db sslmode=verify-full").has_password);
    assert_false(resolve("host=127.0.0.1,::1 sslmode=disable").has_password);
    (void)unsetenv("PGPASSFILE");
}

TEST(an_address_that_is_not_given_is_the_one_of_the_host)
{
    assert_int_equal(resolve("host=a,b hostaddr=127.0.0.1,::1").risk, TRANSPORT_SAFE);
    assert_int_equal(resolve("host=a,b hostaddr=127.0.0.1,::1").hosts, 2);
    assert_int_equal(resolve("host=a,b,c").hosts, 3);
    assert_int_equal(resolve("").hosts, 1);
    assert_int_equal(resolve("host=a,b hostaddr=127.0.0.1,").risk, TRANSPORT_UNENCRYPTED);
    assert_int_equal(resolve("host=/tmp,/tmp hostaddr=,10.0.0.1").risk, TRANSPORT_UNENCRYPTED);
}

TEST(the_time_for_an_address_is_said_in_any_way_that_libpq_knows)
{
    assert_int_equal(resolve("").connect_timeout_s, 0);
    assert_int_equal(resolve("connect_timeout=7").connect_timeout_s, 7);
    (void)setenv("PGCONNECT_TIMEOUT", "9", 1);
    assert_int_equal(resolve("").connect_timeout_s, 9);
    assert_int_equal(resolve("connect_timeout=7").connect_timeout_s, 7);
    (void)unsetenv("PGCONNECT_TIMEOUT");
}

TEST(a_connection_string_that_libpq_refuses_is_not_judged)
{
    static const char *const urls[] = {"service=nosuch", "sslmode=bogus", "postgresql://%zz",
                                       "host=a,b port=1,2,3"};
    struct transport transport;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_int_equal(transport_resolve(&transport, urls[i]), -1);
}

static void assert_turned(const char *url, int first, const char *host, const char *hostaddr,
                          const char *port)
{
    struct transport_hosts hosts;

    assert_int_equal(transport_turn_hosts(&hosts, url, first), 0);
    assert_string_equal(hosts.host, host);
    assert_string_equal(hosts.hostaddr, hostaddr);
    assert_string_equal(hosts.port, port);
    transport_free_hosts(&hosts);
}

TEST(another_host_of_the_url_can_be_tried_first)
{
    assert_turned("postgresql://a:1,b:2,c:3/db", 1, "b,c,a", "", "2,3,1");
    assert_turned("postgresql://a:1,b:2,c:3/db", 5, "c,a,b", "", "3,1,2");
    assert_turned("host=a,b port=7", 1, "b,a", "", "7");
    assert_turned("host=a,b hostaddr=127.0.0.1,::1 port=7,", 1, "b,a", "::1,127.0.0.1", ",7");
    assert_turned("hostaddr=127.0.0.1,::1", 1, "", "::1,127.0.0.1", "5432");
    assert_turned("host=a", 3, "a", "", "5432");
    write_file("PGSERVICEFILE", "[two]\nhost=a,b\nport=1,2\n");
    assert_turned("service=two", 1, "b,a", "", "2,1");
    (void)unsetenv("PGSERVICEFILE");
}
