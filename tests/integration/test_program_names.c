/* Names of schemas, tables and columns as SQL quotes them, through every command. */
#include "integration/nats_reader.h"
#include "integration/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FIXTURE(set_up, fixture_close)

struct names {
    const char *schema; /* as the catalog has them */
    const char *table;
    const char *written; /* in the configuration */
    bool by_every_command;
};

#define DIGITS "0123456789"
/* 63 bytes, of which the first 40 are the same. */
#define LONG(middle) DIGITS DIGITS DIGITS DIGITS middle DIGITS DIGITS

static const struct names each[] = {
    {"tenant-42", "Outbox Messages", "\"tenant-42\".\"Outbox Messages\"", false},
    {"a.b \"c\"", "v1.\"x\" ", "\"a.b \"\"c\"\"\".\"v1.\"\"x\"\" \"", true},
    {"public", "\"", "\"\"\"\"", false},
    {"Gr\xC3\xB6\xC3\x9F"
     "e",
     "'$1' \\%s @id@ {id}",
     "Gr\xC3\xB6\xC3\x9F"
     "e.\"'$1' \\%s @id@ {id}\"",
     true},
    {"public", LONG("abc"), LONG("abc"), false},
    {"public", LONG("abd"), "public." LONG("abd"), true},
};
#define NAMES (sizeof each / sizeof *each)

#define COLUMNS                                                                                    \
    "[outbox.columns]\nid = '\"the \"\"Id\"\"\"'\nkey = '\"(key)\"'\ntopic = '\"to.pic\"'\n"       \
    "sent_at = '\"Sent at \"'\n"

static void write_names_config(struct fixture *fixture, const struct names *names)
{
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("names.toml",
                                "[database]\nurl = \"%s\"\n[outbox]\ntable = '''%s'''\n" COLUMNS
                                "[sink.bus]\ntype = \"nats\"\nservers = [\"%s\"]\nstream = \"%s\"\n"
                                "create = true\nallow = [\"%s.>\"]\n[[route]]\nmatch = \"re:.*\"\n"
                                "sink = \"bus\"\ntopic = \"%s.{topic}\"\n",
                                fixture->url, names->written, server_url(), stream, prefix,
                                prefix));
}

#define program(fixture, ...) run(fixture, __VA_ARGS__, "-c", (fixture)->config)

/* What a column holds in all rows of the outbox, or of a table of the relay's own. */
static long long count(struct fixture *fixture, const char *quoted, const char *condition)
{
    return sql_number(fixture->conn, "SELECT count(*) FROM %s WHERE %s", quoted, condition);
}

static void assert_stored(uint64_t sequence, const char *payload)
{
    natsMsg *message = read_back(sequence);

    assert_string_equal(natsMsg_GetData(message), payload);
    natsMsg_Destroy(message);
}

/* What init --grant prints before the tables are there, it prints afterwards too: it foresees the
 * sequence. */
static void expect_to_be_made(struct fixture *fixture)
{
    char *grants;

    expect(fixture, program(fixture, "init", "--print"), 0);
    expect(fixture, program(fixture, "init", "--grant", "test_grantee"), 0);
    grants = strdup(fixture->process.out);
    expect(fixture, program(fixture, "init", "--notify"), 0);
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, program(fixture, "init", "--grant", "test_grantee"), 0);
    assert_non_null(grants);
    assert_string_equal(fixture->process.out, grants);
    free(grants);
}

static void expect_to_be_relayed(struct fixture *fixture, const char *quoted)
{
    expect(fixture, program(fixture, "emit", "t", "k", "1"), 0);
    expect(fixture, program(fixture, "emit", "t", "k", "2"), 0);
    expect(fixture, program(fixture, "run", "--drain"), 0);
    assert_int_equal(stored(stream), 2);
    assert_stored(1, "1");
    assert_stored(2, "2");
    assert_int_equal(count(fixture, quoted, "\"Sent at \" IS NOT NULL"), 2);
}

static void expect_every_other_command(struct fixture *fixture, const char *quoted)
{
    expect(fixture, run_command(fixture, "check"), 0);
    expect(fixture, run_command(fixture, "sql"), 0);
    expect(fixture, program(fixture, "emit", "not a subject", "k", "3"), 0);
    expect(fixture, program(fixture, "emit", "t", "j", "4"), 0);
    expect(fixture, program(fixture, "run", "--drain"), 1);
    assert_stored(3, "4");
    expect(fixture, program(fixture, "dead", "list"), 0);
    assert_says(fixture->process.out, "not a subject");
    expect(fixture, program(fixture, "dead", "show", "3"), 0);
    expect(fixture, program(fixture, "dead", "retry", "--all"), 0);
    expect(fixture, program(fixture, "run", "--drain"), 1);
    expect(fixture, program(fixture, "status", "--max-dead", "0"), 1);
    expect(fixture, program(fixture, "dead", "drop", "3"), 0);
    expect(fixture, program(fixture, "pause", "key", "k"), 0);
    expect(fixture, program(fixture, "resume", "key", "k"), 0);
    expect(fixture, program(fixture, "replay", "--topic", "t"), 0);
    expect(fixture, program(fixture, "run", "--drain"), 0);
    assert_int_equal(stored(stream), 6);
    expect(fixture, program(fixture, "purge", "--older-than", "0"), 0);
    assert_int_equal(count(fixture, quoted, "true"), 0);
    expect(fixture, run_command(fixture, "status"), 0);
    expect(fixture, run_command(fixture, "config"), 0);
}

FIXTURE_TEST(every_command_takes_names_as_sql_quotes_them)
{
    char quoted[300];

    connect_reader();
    sql(fixture->conn, "SET client_min_messages = warning; DROP ROLE IF EXISTS test_grantee;"
                       " CREATE ROLE test_grantee");
    for (size_t i = 0; i < NAMES; i++) {
        sql(fixture->conn,
            "DO $do$ BEGIN EXECUTE format('CREATE SCHEMA IF NOT EXISTS %%I', $x$%s$x$);"
            " EXECUTE format('GRANT ALL ON SCHEMA %%I TO PUBLIC', $x$%s$x$); END $do$",
            each[i].schema, each[i].schema);
        (void)snprintf(prefix, sizeof prefix, "n%d.%zu", (int)getpid(), i);
        (void)snprintf(stream, sizeof stream, "N%d-%zu", (int)getpid(), i);
        (void)snprintf(quoted, sizeof quoted, "%s",
                       sql_text(fixture->conn, "SELECT format('%%I.%%I', $x$%s$x$, $x$%s$x$)",
                                each[i].schema, each[i].table));
        write_names_config(fixture, &each[i]);
        if (each[i].by_every_command)
            expect_to_be_made(fixture);
        else
            expect(fixture, run_command(fixture, "init"), 0);
        expect_to_be_relayed(fixture, quoted);
        if (each[i].by_every_command)
            expect_every_other_command(fixture, quoted);
        delete_stream(stream);
    }
    sql(fixture->conn, "DROP ROLE test_grantee");
    disconnect_reader();
}

/* With order = "none" other statements look for the index. */
FIXTURE_TEST(an_index_on_quoted_columns_is_found_again)
{
    write_config(fixture,
                 "adopt = true\ntable = '\"x \"\"y\".z'\nwhere = 'z.\"a.\"\"b\" <> 1'\n" COLUMNS,
                 STDOUT_SINK);
    sql(fixture->conn,
        "CREATE SCHEMA \"x \"\"y\"; GRANT ALL ON SCHEMA \"x \"\"y\" TO PUBLIC;"
        " CREATE TABLE \"x \"\"y\".z (\"the \"\"Id\"\"\" bigserial PRIMARY KEY,"
        " event_id uuid DEFAULT gen_random_uuid() UNIQUE, \"to.pic\" text, \"(key)\" text,"
        " payload text, \"Sent at \" timestamptz, \"a.\"\"b\" int);"
        " ALTER TABLE \"x \"\"y\".z OWNER TO " HARNESS_RELAY);
    expect(fixture, run_command(fixture, "init"), 5);
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_command(fixture, "check"), 0);
    sql(fixture->conn, "INSERT INTO \"x \"\"y\".z (\"to.pic\", payload, \"a.\"\"b\")"
                       " VALUES ('t', '1', 1), ('t', '2', 2)");
    expect(fixture, program(fixture, "run", "--drain"), 0);
    assert_int_equal(count_lines(fixture->process.out), 1);
    assert_says(fixture->process.out, "\"payload\":\"2\"");
}
