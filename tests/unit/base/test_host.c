#include "base/host.h"
#include "test.h"

TEST(the_loopback_is_known_by_its_names_and_addresses)
{
    static const char *const here[] = {"localhost",  "LOCALHOST:1", "127.0.0.1",      "127.1:9092",
                                       "[::1]:9092", "[::1]",       "localhost/token"};
    static const char *const there[] = {"",          "localhost.example", "127.example:1",
                                        "[fe80::1]", "128.0.0.1",         "localhostx",
                                        "127",       "localhost@a",       "[::1"};

    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        if (!host_of_address_is_loopback(here[i]))
            fail_msg("%s", here[i]);
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        if (host_of_address_is_loopback(there[i]))
            fail_msg("%s", there[i]);
    assert_true(host_is_loopback("::1", 3));
    assert_false(host_is_loopback("::1", 2));
}
