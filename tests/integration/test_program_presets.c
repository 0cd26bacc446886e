/* A preset whose table is another one, and what `config` prints. What each preset sends:
 * test_kafka_presets.c. */
#include "integration/program.h"

FIXTURE(set_up, fixture_close)

static void assert_refused(struct fixture *fixture, const char *columns, const char *lacking)
{
    static const char *const commands[] = {"init", "check", "run"};

    write_relay_toml(
        fixture, "[outbox]\npreset = \"okapi\"\ntable = \"public.outbox\"\n%s\n" STDOUT_SINK "\n",
        columns);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect(fixture, run_command(fixture, commands[i]), 3);
        assert_says(i == 1 ? fixture->process.out : fixture->process.err, lacking);
    }
}

FIXTURE_TEST(a_preset_for_another_table_is_refused_with_all_columns_that_are_missing)
{
    assert_refused(
        fixture, "",
        "table \"public\".\"outbox\" lacks columns that the preset \"okapi\" uses:"
        " delivery_type, status, updated_at, last_attempt, retries, last_error, delivery_metadata");
    sql(fixture->conn, "ALTER TABLE outbox ADD delivery_metadata jsonb, ADD delivery_type text,"
                       " ADD updated_at timestamp, ADD last_attempt timestamp, ADD state text");
    assert_refused(fixture, "", "the preset \"okapi\" uses: status");
    sql(fixture->conn, "ALTER TABLE outbox RENAME payload TO body");
    assert_refused(fixture, "where = \"state = 'NEW'\"\nmark = \"state = 'SENT'\"",
                   "the preset \"okapi\" uses: payload, status");
}

FIXTURE_TEST(a_table_that_differs_fits_once_the_configuration_says_how)
{
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_control");
    sql(fixture->conn, "CREATE TABLE events (id bigserial PRIMARY KEY, topic text, key text,"
                       " payload text, state text); ALTER TABLE events OWNER TO " HARNESS_RELAY);
    write_relay_toml(fixture,
                     "[outbox]\npreset = \"status-column\"\ntable = \"events\"\n"
                     "where = \"state = 'NEW'\"\nmark = \"state = 'SENT'\"\n" STDOUT_SINK "\n");
    expect(fixture, run_command(fixture, "init"), 5);
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_command(fixture, "check"), 0);
}

FIXTURE_TEST(a_preset_is_printed_and_an_unknown_one_is_refused)
{
    expect(fixture, run(fixture, "config", "--preset", "okapi"), 0);
    assert_says(fixture->process.out, "# Okapi");
    assert_says(fixture->process.out, "[outbox.columns]");
    expect(fixture, run(fixture, "config", "--preset", "okapy"), 2);
    assert_says(fixture->process.err, "there is no preset \"okapy\"; known: boolean-column, cap,");
}

FIXTURE_TEST(a_table_of_a_preset_that_does_not_exist_is_not_made)
{
    write_relay_toml(fixture, "[outbox]\npreset = \"okapi\"\n" STDOUT_SINK "\n");
    expect(fixture, run_command(fixture, "init"), 3);
    assert_says(fixture->process.err, "init creates only the default table, not that of a preset");
}
