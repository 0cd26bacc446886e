/* A cluster whose brokers advertise an address that this machine cannot reach. */
#include "integration/program.h"

#include <stdio.h>
#include <string.h>

FIXTURE(set_up, fixture_close)

/* Kafka answers at one address, and sends its clients to another, where nothing listens. */
FIXTURE_TEST(an_advertised_address_that_cannot_be_reached_is_named)
{
    static const char sink[] = "[sink.k]\ntype = \"kafka\"\ncreate = true\nallow = [\"%s\"]\n"
                               "brokers = [\"%s\"]\n[[route]]\nmatch = \">\"\ntopic = \"%s\"\n";
    const char *advertised = harness_env("TEST_KAFKA_PROXY");
    char text[512];
    char says[256];

    (void)snprintf(text, sizeof text, sink, fixture->name, harness_env("TEST_KAFKA_BROKERS"),
                   fixture->name);
    write_config(fixture, "", text);
    expect_run(fixture, 0, "init");
    assert_string_equal(fixture->process.err, "");
    (void)snprintf(text, sizeof text, sink, fixture->name, harness_env("TEST_KAFKA_PROXIED"),
                   fixture->name);
    write_config(fixture, "", text);
    (void)snprintf(says, sizeof says,
                   "advertises %s%s, and this machine cannot reach that:"
                   " Connection refused",
                   strchr(advertised, ':') != NULL ? "" : "127.0.0.1:", advertised);
    (void)run(fixture, "init", "-c", fixture->config);
    assert_says(fixture->process.err, says);
    expect_run(fixture, 4, "check");
    assert_says(fixture->process.out, "  fix: in that broker's advertised.listeners");
    assert_says(fixture->process.out, says);
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    expect(fixture, run_drain(fixture), 1);
    assert_says(fixture->process.err, "acknowledges nothing, and the relay cannot reach ");
    assert_says(fixture->process.err, "advertised.listeners");
    assert_says(fixture->process.err, advertised);
}
