/* What `introspect` prints is a configuration that `check` accepts and with which rows are sent. */
#include "integration/program.h"

#include <stdio.h>
#include <string.h>

FIXTURE(fixture_open_empty, fixture_close)

static void introspect(struct fixture *fixture, const char *table)
{
    configure(fixture);
    expect_run(fixture, 0, "introspect", table);
}

/* With what was printed, where the existing rows are taken, and a sink. */
static void configure_printed(struct fixture *fixture)
{
    char printed[4096];
    char *adopt;

    (void)snprintf(printed, sizeof printed, "%s", fixture->process.out);
    adopt = strstr(printed, "# adopt = true");
    assert_non_null(adopt);
    *adopt = ' ';
    write_relay_toml(fixture, "%s\n" STDOUT_SINK "\n", printed);
    init_existing(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
}

FIXTURE_TEST(what_introspect_prints_passes_check_and_sends_each_row_once)
{
    static const struct {
        const char *table;
        const char *create;
        const char *insert;
        const char *says[8];
    } cases[] = {
        {"public.events",
         "CREATE TABLE events (event_no bigserial PRIMARY KEY, uid uuid NOT NULL UNIQUE DEFAULT"
         " gen_random_uuid(), subject text NOT NULL, entity text, body jsonb, published_at"
         " timestamptz)",
         "INSERT INTO events (subject, entity, body) VALUES ('order.paid', '42', '{}')",
         {"id         = \"event_no\"", "event_id   = \"uid\"", "topic      = \"subject\"",
          "key        = \"entity\"", "payload    = \"body\"", "sent_at    = \"published_at\""}},
        {"messages",
         "CREATE TABLE messages (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, message_id uuid"
         " NOT NULL, topic text, key text, payload bytea, status text NOT NULL DEFAULT 'NEW' CHECK"
         " (status IN ('FAILED', 'NEW', 'SENT')), available_at timestamptz NOT NULL DEFAULT now(),"
         " sent_on timestamptz)",
         "INSERT INTO messages (message_id, topic, payload) VALUES (gen_random_uuid(), 't', 'x')",
         {"where      = \"status = 'NEW'\"", "mark       = \"status = 'SENT', sent_on = now()\"",
          "due        = \"available_at\"", "event_id   = \"message_id\"",
          "sent_at    = \"sent_on\""}},
        {"states",
         "CREATE TYPE sending AS ENUM ('pending', 'done', 'broken');"
         "CREATE TABLE states (id bigserial PRIMARY KEY, event_id uuid, topic text, payload json,"
         " state sending DEFAULT 'pending')",
         "INSERT INTO states (event_id, topic, payload) VALUES (gen_random_uuid(), 't', '{}')",
         {"where      = \"state = 'pending'\"", "mark       = \"state = 'done'\""}},
        {"sampled",
         "CREATE TABLE sampled (id bigserial PRIMARY KEY, event_id uuid, topic text, payload json,"
         " status varchar(20)); INSERT INTO sampled (status) VALUES ('Delivered'), ('odd')",
         "INSERT INTO sampled (event_id, topic, payload, status) VALUES (gen_random_uuid(), 't',"
         " '{}', 'Created')",
         {"on_sent    = \"delete\"", "Candidates: status"}},
        {"lower",
         "CREATE TABLE lower (id bigserial PRIMARY KEY, event_id uuid, topic text, payload json,"
         " status text)",
         "INSERT INTO lower (event_id, topic, payload, status) VALUES (gen_random_uuid(), 't',"
         " '{}', 'pending')",
         {"where      = \"status = 'pending'\"", "mark       = \"status = 'sent'\""}},
        {"flags",
         "CREATE TABLE flags (id bigserial PRIMARY KEY, event_id uuid, topic text, payload json,"
         " processed boolean)",
         "INSERT INTO flags (event_id, topic, payload) VALUES (gen_random_uuid(), 't', '{}')",
         {"where      = \"processed IS NOT TRUE\"", "mark       = \"processed = true\""}},
        {"uuids",
         "CREATE TABLE uuids (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), destination text,"
         " aggregate_id text, event_type text, data jsonb, processed_at timestamptz)",
         "INSERT INTO uuids (destination, data) VALUES ('t', '{}')",
         {"order      = \"none\"", "id         = \"id\"", "event_id   = \"id\"",
          "key        = \"aggregate_id\"", "type       = \"event_type\"",
          "sent_at    = \"processed_at\""}},
        {"notifications",
         "CREATE TABLE notifications (notification_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),"
         " channel text NOT NULL, recipient text, content json NOT NULL, state text NOT NULL DEFAULT"
         " 'PENDING' CHECK (state IN ('PENDING', 'DELIVERED', 'ERROR')), scheduled_for timestamptz,"
         " delivered_at timestamptz)",
         "INSERT INTO notifications (channel, content) VALUES ('t', '{}')",
         {"order      = \"none\"", "id         = \"notification_id\"",
          "event_id   = \"notification_id\"", "topic      = \"channel\"",
          "mark       = \"state = 'DELIVERED', delivered_at = now()\"",
          "due        = \"scheduled_for\""}},
        {"\"tenant.42\".\"Outbox Messages\"",
         "CREATE SCHEMA \"tenant.42\" AUTHORIZATION " HARNESS_RELAY "; CREATE TABLE"
         " \"tenant.42\".\"Outbox Messages\" (\"Id\" bigserial PRIMARY KEY, \"EventId\" uuid,"
         " \"Topic\" text, \"Message Key\" text, \"Payload\" json, \"Is\"\"Sent\" boolean,"
         " \"the.headers\" jsonb)",
         "INSERT INTO \"tenant.42\".\"Outbox Messages\" (\"EventId\", \"Topic\", \"Payload\") VALUES"
         " (gen_random_uuid(), 't', '{}')",
         {"table      = \"\\\"tenant.42\\\".\\\"Outbox Messages\\\"\"", "id         = \"Id\"",
          "key        = \"Message Key\"", "where      = \"\\\"Is\\\"\\\"Sent\\\" IS NOT TRUE\""}},
        {"bare",
         "CREATE TABLE bare (n bigserial PRIMARY KEY, a int)",
         "INSERT INTO bare (a) VALUES (7)",
         {"on_sent    = \"delete\"", "topic      = \"('outbox')\"", "event_id   = \"(n::text)\"",
          "payload    = \"(to_jsonb(bare))\"", "candidates: none"}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sql(fixture->conn, "SET ROLE " HARNESS_RELAY "; %s; RESET ROLE", cases[i].create);
        if (strcmp(cases[i].table, "lower") == 0)
            sql(fixture->conn, "%s", cases[i].insert); /* the values are known by the rows only */
        introspect(fixture, cases[i].table);
        for (int j = 0; j < 8 && cases[i].says[j] != NULL; j++)
            assert_says(fixture->process.out, cases[i].says[j]);
        configure_printed(fixture);
        expect(fixture, run_command(fixture, "check"), 0);
        if (strcmp(cases[i].table, "sampled") == 0)
            continue; /* it has rows that nobody may want to send */
        if (strcmp(cases[i].table, "lower") != 0)
            sql(fixture->conn, "%s", cases[i].insert);
        expect_run(fixture, 0, "explain", "--json");
        assert_says(fixture->process.out, "\"outcome\":\"send\"");
        expect_drained(fixture, 0, 1);
        expect_drained(fixture, 0, 0);
    }
}

/* The owner of a table writes no line of the configuration. */
FIXTURE_TEST(names_with_newlines_stay_names)
{
    sql(fixture->conn,
        "CREATE DOMAIN \"t\n[http]\nlisten='0.0.0.0:6666'\n#\" AS timestamptz; CREATE"
        " TABLE sly (id bigserial PRIMARY KEY, \"c\n[log]\n\" text, payload json, sent_at"
        " \"t\n[http]\nlisten='0.0.0.0:6666'\n#\", status text)");
    sql(fixture->conn, "INSERT INTO sly (status) VALUES (E'SENT\\r'), ('NEW')");
    introspect(fixture, "sly");
    assert_null(strstr(fixture->process.out, "\n[http]"));
    assert_null(strstr(fixture->process.out, "\n[log]"));
    assert_null(strchr(fixture->process.out, '\r'));
}

FIXTURE_TEST(a_table_that_cannot_be_an_outbox_is_named)
{
    configure(fixture);
    expect_run(fixture, 3, "introspect", "no_such_table");
    assert_says(fixture->process.err, "does not exist");
    sql(fixture->conn, "CREATE VIEW seen AS SELECT 1; CREATE TABLE loose (a int, topic text)");
    expect_run(fixture, 3, "introspect", "seen");
    introspect(fixture, "loose");
    assert_says(fixture->process.out, "# id: no column is unique and never NULL");
    assert_says(fixture->process.out, "init --feed");
}
