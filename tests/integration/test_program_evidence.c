/*
 * A row is purged, audited or sent again only if this relay has sent it, and what says so is a
 * column that nobody else writes: a row that the application has finished itself looks the same.
 */
#include "integration/program.h"

#include <signal.h>

FIXTURE(fixture_open_empty, fixture_close)

/* Tables of applications, each with three rows: to be sent, finished by the application, and sent
 * by another program before the relay came. The words are: what is put beside the row, what the
 * relay may not touch, and what ends the second row. */
struct theirs {
    const char *columns;
    const char *finish; /* the SET list by which the application ends a row itself */
    const char *outbox; /* NULL: as introspect proposes it, unedited */
    const char *sent_at;
};

static const struct theirs tables[] = {
    {"status text NOT NULL DEFAULT 'NEW' CHECK (status IN ('NEW', 'SENT', 'CANCELLED')),"
     " processed_at timestamptz",
     "status = 'CANCELLED', processed_at = now() - interval '30 days'", NULL, "processed_at"},
    {"status text NOT NULL DEFAULT 'NEW' CHECK (status IN ('NEW', 'SENT')), processed_at"
     " timestamptz",
     "status = 'SENT', processed_at = now() - interval '30 days'", NULL, "processed_at"},
    {"processed boolean NOT NULL DEFAULT false, processed_at timestamptz",
     "processed = true, processed_at = now() - interval '30 days'", NULL, "processed_at"},
    {"processed_at timestamp", "processed_at = localtimestamp - interval '30 days'", NULL,
     "processed_at"},
    {"sent_at timestamptz", "sent_at = now() - interval '30 days'", NULL, "sent_at"},
    {"tenant text NOT NULL DEFAULT 'a', processed_at timestamptz",
     "tenant = 'b', processed_at = now() - interval '30 days'",
     "where = \"tenant = 'a' AND processed_at IS NULL\"\nmark = \"processed_at = now()\"\n"
     "[outbox.columns]\nsent_at = \"processed_at\"\n",
     "processed_at"},
};
#define TABLES (sizeof tables / sizeof *tables)

static void make_theirs(struct fixture *fixture, const struct theirs *theirs)
{
    sql(fixture->conn,
        "SET client_min_messages = warning; DROP TABLE IF EXISTS events, events_parked,"
        " events_control, events_slice; SET ROLE " HARNESS_RELAY "; CREATE TABLE events (id"
        " bigserial PRIMARY KEY, event_id uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(), topic"
        " text NOT NULL DEFAULT 't', key text, payload jsonb, %s); RESET ROLE",
        theirs->columns);
    sql(fixture->conn, "INSERT INTO events (key) VALUES ('legacy'); UPDATE events SET %s",
        theirs->finish);
}

static void configure_theirs(struct fixture *fixture, const struct theirs *theirs)
{
    char outbox[8192];

    if (theirs->outbox != NULL) {
        (void)snprintf(outbox, sizeof outbox, "[outbox]\ntable = \"public.events\"\n%s",
                       theirs->outbox);
    } else {
        configure(fixture);
        expect_run(fixture, 0, "introspect", "public.events");
        (void)snprintf(outbox, sizeof outbox, "%s", fixture->process.out);
    }
    write_relay_toml(fixture, "%s\n[relay]\nlanes = 1\npoll_interval = \"50ms\"\n" STDOUT_SINK "\n",
                     outbox);
    init_existing(fixture);
}

/* Every version of the rows that the relay has not sent is where it was. */
static void assert_untouched(struct fixture *fixture)
{
    assert_number(fixture->conn, 2,
                  "SELECT count(*) FROM before b JOIN events e USING (id) WHERE"
                  " e.ctid::text = b.place AND e.xmin::text = b.version AND"
                  " e.xmax::text = b.locked");
}

static void send_one_finish_one(struct fixture *fixture, const struct theirs *theirs)
{
    make_theirs(fixture, theirs);
    configure_theirs(fixture, theirs);
    expect(fixture, run_drain(fixture), 0);
    sql(fixture->conn, "INSERT INTO events (key) VALUES ('sent'); INSERT INTO events (key)"
                       " VALUES ('finished')");
    sql(fixture->conn,
        "UPDATE events SET %s WHERE key = 'finished'; DROP TABLE IF EXISTS before;"
        " CREATE TABLE before AS SELECT id, ctid::text AS place, xmin::text AS"
        " version, xmax::text AS locked FROM events WHERE key <> 'sent'",
        theirs->finish);
    expect_drained(fixture, 0, 1);
}

/* Whatever a command says, a drain after it sends nothing. */
static void assert_nothing_to_send(struct fixture *fixture)
{
    expect_drained(fixture, 0, 0);
    assert_untouched(fixture);
}

FIXTURE_TEST(what_an_application_has_finished_itself_is_neither_purged_nor_published)
{
    struct process relay;

    for (size_t i = 0; i < TABLES; i++) {
        send_one_finish_one(fixture, &tables[i]);
        expect(fixture, run_command(fixture, "check"), 0);
        assert_says(fixture->process.out, "so it is no proof that the relay has sent a row");
        assert_says(fixture->process.out, "IS 'outbox-relay: only the relay writes this column'");
        expect_run(fixture, 0, "purge", "--older-than", "0");
        assert_string_equal(fixture->process.out, "purged 0\n");
        assert_says(fixture->process.err, "are not purged, audited or sent again");
        expect_run(fixture, 2, "replay", "--since", "90d");
        expect_run(fixture, 2, "audit", "--repair", "--yes");
        assert_nothing_to_send(fixture);
    }
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&relay, "are not purged, audited or sent again");
    process_stop(&relay, SIGTERM);
    process_free(&relay);
    expect_run(fixture, 2, "replay", "3");
    assert_nothing_to_send(fixture);
}

/* The comment of the column says that it is the relay's; what bore its mark before stays. */
FIXTURE_TEST(a_column_that_is_said_to_be_the_relays_tells_what_it_has_sent_since_it_came)
{
    char column[64];

    for (size_t i = 1; i < TABLES; i += 2) {
        send_one_finish_one(fixture, &tables[i]);
        (void)snprintf(column, sizeof column, "events.%s", tables[i].sent_at);
        say_only_relay_writes(fixture, column);
        expect(fixture, run_command(fixture, "check"), 0);
        assert_null(strstr(fixture->process.out, "so it does not say which rows"));
        expect_run(fixture, 1, "replay", "3");
        expect_run(fixture, 1, "replay", "1");
        expect_run(fixture, 0, "replay", "--since", "90d");
        assert_string_equal(fixture->process.out, "replayed 1\n");
        expect(fixture, run_drain(fixture), 0);
        assert_says(fixture->process.out, "\"key\":\"sent\"");
        assert_int_equal(count_lines(fixture->process.out), 1);
        expect_run(fixture, 0, "purge", "--older-than", "0");
        assert_number(fixture->conn, 2, "SELECT count(*) FROM events");
        assert_nothing_to_send(fixture);
    }
}

/* It was sent once, corrected, brought back within `where`, and could then not be sent. */
FIXTURE_TEST(a_row_that_stays_unsent_in_its_table_is_neither_purged_nor_replayed)
{
    static const char parks[] = "[outbox]\ntable = \"public.events\"\nwhere = \"status = 'NEW'\"\n"
                                "mark = \"status = 'SENT', sent_on = now()\"\n"
                                "park = \"status = 'FAILED'%s\"\n[outbox.columns]\n"
                                "sent_at = \"sent_on\"\n" STDOUT_SINK "\nallow = [\"t\"]\n";
    static const char *const times[] = {"timestamptz", "timestamp NOT NULL DEFAULT 'epoch'"};

    for (int i = 0; i < 2; i++) {
        sql(fixture->conn,
            "SET client_min_messages = warning; DROP TABLE IF EXISTS events, events_parked,"
            " events_control, events_slice; SET ROLE " HARNESS_RELAY "; CREATE TABLE events (id"
            " bigserial PRIMARY KEY, event_id uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(), topic"
            " text NOT NULL DEFAULT 't', key text, payload jsonb, status text NOT NULL DEFAULT"
            " 'NEW', sent_on %s); RESET ROLE",
            times[i]);
        say_only_relay_writes(fixture, "events.sent_on");
        write_relay_toml(fixture, parks, "");
        init_existing(fixture);
        expect(fixture, run_drain(fixture), 0);
        sql(fixture->conn, "INSERT INTO events (key) VALUES ('a'), ('b')");
        expect_drained(fixture, 0, 2);
        sql(fixture->conn, "UPDATE events SET status = 'NEW', topic = 'nowhere' WHERE key = 'a'");
        expect(fixture, run_drain(fixture), 1);
        for (int j = 0; j < 2; j++) { /* also when its copy is gone */
            expect_run(fixture, 1, "replay", "1");
            expect_run(fixture, 0, "replay", "--since", "1h", "--dry-run");
            assert_says(fixture->process.out, "would replay 1");
            if (j == 0)
                expect_run(fixture, 0, "dead", "drop", "1");
        }
        expect_run(fixture, 0, "purge", "--older-than", "0");
        assert_string_equal(fixture->process.out, "purged 1\n");
        assert_string_equal(sql_text(fixture->conn, "SELECT string_agg(key || status, ',') FROM"
                                                    " events"),
                            "aFAILED");
    }
    write_relay_toml(fixture, parks, ", sent_on = now()");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "in park sent_at, which the relay clears");
}

FIXTURE_TEST(a_column_that_init_makes_is_the_relays)
{
    sql(fixture->conn, "CREATE TABLE events (id bigserial PRIMARY KEY, event_id uuid NOT NULL"
                       " UNIQUE DEFAULT gen_random_uuid(), topic text NOT NULL DEFAULT 't', key"
                       " text, payload jsonb)");
    write_relay_toml(fixture, "[outbox]\ntable = \"public.events\"\n" STDOUT_SINK "\n");
    expect(fixture, run_command(fixture, "init"), 5);
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_drain(fixture), 0);
    sql(fixture->conn, "INSERT INTO events (key) VALUES ('k')");
    expect(fixture, run_drain(fixture), 0);
    expect(fixture, run_command(fixture, "check"), 0);
    assert_null(strstr(fixture->process.out, "so it does not say which rows"));
    expect_run(fixture, 0, "purge", "--older-than", "0");
    assert_string_equal(fixture->process.out, "purged 1\n");
}
