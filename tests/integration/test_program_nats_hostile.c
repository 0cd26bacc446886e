/* A hostile NATS server: the same runs each time. `make fuzz-nats` has others. */
#include "integration/harness.h"

#include <stdio.h>
#include <stdlib.h>

/* It starts the program, and says what went wrong. */
static void expect_no_harm(const char *kind)
{
    char command[256];

    (void)harness_env("TEST_PG_URL");
    (void)snprintf(command, sizeof command, "tests/fuzz/hostile_nats --seed 1 --runs 3 --kind %s",
                   kind);
    assert_int_equal(system(command), 0);
}

#define KIND(name, kind)                                                                           \
    TEST(name)                                                                                     \
    {                                                                                              \
        expect_no_harm(kind);                                                                      \
    }

KIND(a_greeting_of_any_kind_does_no_harm, "info")
KIND(messages_of_wrong_sizes_do_no_harm, "msg")
KIND(a_forged_acknowledgement_marks_no_row, "acks")
KIND(a_flood_of_errors_and_pings_does_no_harm, "flood")
KIND(a_server_that_writes_byte_by_byte_does_no_harm, "slow")
KIND(an_end_behind_any_byte_does_no_harm, "cut")
KIND(damaged_bytes_do_no_harm, "noise")
