/*
 * Rows that PostgreSQL refuses to settle: nothing is sent twice for them, however long the cause
 * lasts, the rows of other keys leave, and the row is named. Once the cause is gone, all is
 * settled.
 */
#include "integration/program.h"

#include <signal.h>

FIXTURE(set_up, fixture_close)

#define ROWS 400
#define KEYS 40
#define TRIGGER_FUNCTION(body)                                                                     \
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN " body                   \
    " RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END; END$$; "
#define TRIGGER(body, when)                                                                        \
    TRIGGER_FUNCTION(body)                                                                         \
    "CREATE TRIGGER refuse " when " ON outbox FOR EACH ROW EXECUTE FUNCTION refuse()"
#define END_TRIGGER "DROP FUNCTION refuse() CASCADE"
#define FIRST_ROW "OLD.id = 1"
#define FOREIGN_KEY                                                                                \
    "CREATE TABLE audit (id bigint REFERENCES outbox); INSERT INTO audit VALUES (1);"
/* A relay locks the outbox first, too. */
#define END_KEY "LOCK TABLE outbox; DROP TABLE audit"

struct refusal {
    const char *order, *on_sent;
    const char *cause, *end; /* SQL */
    int refused;             /* rows */
    const char *says;
};

static void configure_for(struct fixture *fixture, const char *order, const char *on_sent)
{
    write_relay_toml(fixture,
                     "[outbox]\norder = \"%s\"\non_sent ="
                     " \"%s\"\n[relay]\npoll_interval = \"50ms\"\nbatch = 100\n[retry]\n"
                     "backoff = \"100ms\"\nbackoff_max = \"500ms\"\n" STDOUT_SINK "\n",
                     order, on_sent);
}

static void fill(struct fixture *fixture, const struct refusal *refusal)
{
    configure_for(fixture, refusal->order, refusal->on_sent);
    sql(fixture->conn, "SET client_min_messages = warning; DROP TABLE IF EXISTS outbox,"
                       " outbox_parked, outbox_control, outbox_slice, copy, printed, audit"
                       " CASCADE");
    expect(fixture, run_command(fixture, "init"), 0);
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT 't', 'k' || i %% %d, to_jsonb(i)"
        " FROM generate_series(1, %d) i",
        KEYS, ROWS);
    sql(fixture->conn, "CREATE TABLE copy AS SELECT * FROM outbox");
    sql(fixture->conn, "%s", refusal->cause);
}

static void start(struct fixture *fixture)
{
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
}

static void stop(struct fixture *fixture)
{
    process_stop(&fixture->process, SIGTERM);
    assert_int_equal(fixture->process.status, 0);
    load_printed(fixture, fixture->process.out);
}

static const char *unsent(const struct refusal *refusal)
{
    return strcmp(refusal->on_sent, "mark") == 0 ? UNSENT : "SELECT count(*) FROM outbox";
}

/* A relay has named what is refused, and all else has left. */
static void be_refused(struct fixture *fixture, const struct refusal *refusal)
{
    fill(fixture, refusal);
    start(fixture);
    process_await_words(&fixture->process, refusal->says);
    wait_for_number(fixture->conn, refusal->refused, unsent(refusal));
}

static void assert_printed_at_most(struct fixture *fixture, int times)
{
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT FROM printed GROUP BY line->>'id'"
                  " HAVING count(*) > %d) often",
                  times);
}

static void assert_all_are_settled(struct fixture *fixture, const struct refusal *refusal)
{
    sql(fixture->conn, "%s", refusal->end);
    wait_for_number(fixture->conn, 0, unsent(refusal));
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked WHERE sent_at IS NULL");
    stop(fixture);
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM copy WHERE event_id::text NOT IN"
                  " (SELECT line->>'id' FROM printed)");
    if (strcmp(refusal->order, "key") == 0)
        assert_keys_printed_in_order(fixture);
}

static void assert_status_says(struct fixture *fixture, const char *words)
{
    struct process status = {0};

    assert_int_equal(process_run(&status, NULL, "status", "-c", fixture->config, NULL), 0);
    assert_says(status.out, words);
    process_free(&status);
}

#define NOTES "outbox_parked WHERE state IN ('refused', 'unsettled')"

/* The second relay finds the rows refused, as the first one has left them. */
static void check(struct fixture *fixture, const struct refusal *refusal)
{
    /* Without slices another lane may take the rows before their notes are there. */
    int times = strcmp(refusal->order, "key") == 0 ? 1 : 2;

    be_refused(fixture, refusal);
    wait_for_number(fixture->conn, 1, "SELECT (count(*) > 0)::int FROM " NOTES);
    stop(fixture);
    start(fixture);
    wait_for_number(fixture->conn, 1, "SELECT (min(attempts) >= 3)::int FROM " NOTES);
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT FROM " NOTES
                  " GROUP BY id HAVING count(*) > 1) twice");
    assert_status_says(fixture, "wait");
    assert_number(fixture->conn, refusal->refused, "%s", unsent(refusal));
    assert_all_are_settled(fixture, refusal);
    assert_printed_at_most(fixture, times);
}

TEST(a_row_that_a_foreign_key_references_is_sent_once_and_named)
{
    static const struct refusal refusal = {"key",   "delete", FOREIGN_KEY,
                                           END_KEY, 1,        "violates foreign key constraint"};

    check(*state, &refusal);
}

TEST(a_row_for_which_a_trigger_raises_is_sent_once_and_named)
{
    static const struct refusal by_key = {
        "key",
        "mark",
        TRIGGER("IF " FIRST_ROW " THEN RAISE 'not this one'; END IF;", "BEFORE UPDATE"),
        END_TRIGGER,
        1,
        "raise_exception (SQLSTATE P0001)"};
    static const struct refusal without_order = {
        "none",
        "delete",
        TRIGGER("IF OLD.id % 100 = 1 THEN RAISE 'not these'; END IF;", "BEFORE DELETE"),
        END_TRIGGER,
        4,
        "raise_exception (SQLSTATE P0001)"};

    check(*state, &by_key);
    check(*state, &without_order);
}

TEST(a_mark_that_a_trigger_takes_back_is_no_mark)
{
    static const struct refusal before = {
        "key",
        "mark",
        TRIGGER("IF " FIRST_ROW " THEN NEW.sent_at = NULL; END IF;", "BEFORE UPDATE"),
        END_TRIGGER,
        1,
        "interferes"};
    static const struct refusal after = {
        "none",
        "mark",
        TRIGGER("IF " FIRST_ROW " AND NEW.sent_at IS NOT NULL THEN UPDATE public.outbox SET sent_at"
                " = NULL WHERE id = OLD.id; END IF;",
                "AFTER UPDATE"),
        END_TRIGGER,
        1,
        "unsent again"};
    static const struct refusal swallowed = {
        "key",
        "delete",
        TRIGGER("IF " FIRST_ROW " THEN RETURN NULL; END IF;", "BEFORE DELETE"),
        END_TRIGGER,
        1,
        "interferes"};

    check(*state, &before);
    check(*state, &after);
    check(*state, &swallowed);
}

TEST(a_row_that_is_refused_at_commit_is_sent_once_and_named)
{
    static const struct refusal refusal = {
        "key",
        "delete",
        TRIGGER_FUNCTION(
            "IF " FIRST_ROW
            " THEN RAISE 'too late'; END IF;") "CREATE CONSTRAINT TRIGGER refuse AFTER DELETE ON "
                                               "outbox DEFERRABLE INITIALLY DEFERRED"
                                               " FOR EACH ROW EXECUTE FUNCTION refuse()",
        END_TRIGGER,
        1,
        "raise_exception (SQLSTATE P0001)"};

    check(*state, &refusal);
}

FIXTURE_TEST(a_row_whose_trigger_ends_the_session_is_sent_twice_at_most)
{
    static const struct refusal refusal = {
        "key",
        "mark",
        TRIGGER("IF " FIRST_ROW " THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;",
                "BEFORE UPDATE"),
        END_TRIGGER,
        1,
        "ended the session"};

    be_refused(fixture, &refusal);
    sql(fixture->conn, END_TRIGGER);
    stop(fixture);
    assert_printed_at_most(fixture, 2);
}

/* One batch for each lane is published before the first settle; then nothing is. */
TEST(while_every_row_is_refused_nothing_more_is_published)
{
    static const struct refusal refusal = {
        "none",
        "delete",
        TRIGGER_FUNCTION("RAISE 'nobody';") "CREATE TRIGGER refuse BEFORE DELETE ON outbox FOR EACH"
                                            " STATEMENT EXECUTE FUNCTION refuse()",
        END_TRIGGER,
        ROWS,
        "raise_exception (SQLSTATE P0001)"};

    check(*state, &refusal);
}

/* It is dead, and stays in the outbox: a foreign key references it. Its note keeps it out of the
 * claims, and its neighbours leave. */
FIXTURE_TEST(a_row_that_cannot_be_parked_harms_no_other_key)
{
    static const struct refusal refusal = {
        "key",   "mark", FOREIGN_KEY "UPDATE outbox SET headers = '{\"nested\": [1]}' WHERE id = 1",
        END_KEY, 1,      "refuses to park this row"};

    be_refused(fixture, &refusal);
    assert_status_says(fixture, "row 1 and its key wait");
    sql(fixture->conn, END_KEY);
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM outbox_parked WHERE state = 'dead'"
                    " AND id = 1");
    wait_for_number(fixture->conn, 0, UNSENT);
    stop(fixture);
}

/* A parked row whose key has no earlier one among the parked rows is sent. */
FIXTURE_TEST(without_a_note_of_a_refused_row_none_of_its_key_leaves_the_outbox)
{
    static const struct refusal refusal = {
        "key",
        "delete",
        FOREIGN_KEY
        " CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'no notes'; END$$;"
        " CREATE TRIGGER keep BEFORE INSERT ON outbox_parked FOR EACH ROW"
        " WHEN (NEW.state IN ('refused', 'unsettled')) EXECUTE FUNCTION keep()",
        END_KEY,
        ROWS / KEYS,
        "rows could not be parked or settled: database: raise_exception"};

    be_refused(fixture, &refusal);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked WHERE key = 'k1'");
    sql(fixture->conn, "DROP FUNCTION keep() CASCADE");
    assert_all_are_settled(fixture, &refusal);
    assert_printed_at_most(fixture, 2);
}

FIXTURE_TEST(parked_rows_that_cannot_be_settled_end_no_relay)
{
    static const struct refusal refusal = {
        "key",
        "mark",
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'not yet'; END$$;"
        " CREATE CONSTRAINT TRIGGER keep AFTER UPDATE OR DELETE ON outbox_parked DEFERRABLE"
        " INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION keep();"
        " INSERT INTO outbox_parked (id, event_id, topic, key, payload, created_at, state, due)"
        " VALUES (100000, gen_random_uuid(), 't', 'parked', '1', now(), 'retry', now())",
        "DROP FUNCTION keep() CASCADE",
        0,
        "rows could not be parked or settled: "};

    be_refused(fixture, &refusal);
    assert_all_are_settled(fixture, &refusal);
    assert_printed_at_most(fixture, 2);
}

/* The application may settle the matter by itself. */
FIXTURE_TEST(a_refused_row_that_the_application_removes_holds_its_key_no_longer)
{
    static const struct refusal refusal = {"key", "delete", FOREIGN_KEY,
                                           "",    1,        "violates foreign key constraint"};
    struct process drop = {0};

    be_refused(fixture, &refusal);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) VALUES ('t', 'k1', '1000')");
    wait_for_number(fixture->conn, 1, "SELECT count(*) FROM outbox_parked WHERE state = 'behind'");
    assert_int_equal(process_run(&drop, NULL, "dead", "drop", "1", "-c", fixture->config, NULL), 1);
    assert_says(drop.err, "a row that PostgreSQL refuses stays");
    process_free(&drop);
    sql(fixture->conn, "LOCK TABLE outbox; DELETE FROM audit; DELETE FROM outbox WHERE id = 1");
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked WHERE sent_at IS NULL");
    stop(fixture);
    assert_printed_at_most(fixture, 1);
    assert_number(fixture->conn, 1, "SELECT count(*) FROM printed WHERE line->>'payload' = '1000'");
}

/* Of 3,000 rows a foreign key keeps every hundredth. */
FIXTURE_TEST(rows_that_cannot_be_purged_are_named_and_all_others_are_purged)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, sent_at) SELECT 't', now() - interval '1 day'"
                       " FROM generate_series(1, 3000); CREATE TABLE audit (id bigint REFERENCES"
                       " outbox); INSERT INTO audit SELECT id FROM outbox WHERE id %% 100 = 7");
    expect_run(fixture, 3, "purge", "--older-than", "1h");
    assert_says(fixture->process.out, "purged 2970");
    assert_says(fixture->process.err, "refuses to delete 30 sent rows, the first is row 7");
    assert_number(fixture->conn, 30, "SELECT count(*) FROM outbox");
    sql(fixture->conn, "INSERT INTO outbox (topic, sent_at) SELECT 't', now() - interval '1 day'"
                       " FROM generate_series(1, 2000)");
    write_config(fixture, "retention = \"2s\"", STDOUT_SINK);
    start(fixture);
    wait_for_number(fixture->conn, 30, "SELECT count(*) FROM outbox");
    process_await_words(&fixture->process, "30 rows, for the first");
    sql(fixture->conn,
        "INSERT INTO outbox (topic, sent_at) VALUES ('t', now() - interval '1 day')");
    wait_for_number(fixture->conn, 30, "SELECT count(*) FROM outbox");
    assert_int_equal(process_count_words(&fixture->process, "cannot be purged"), 1);
    sql(fixture->conn, "DELETE FROM audit");
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox");
    process_stop(&fixture->process, SIGTERM);
}

FIXTURE_TEST(check_warns_of_what_may_refuse_a_settle)
{
    static const struct refusal refusal = {
        "key",
        "delete",
        "CREATE TABLE audit (id bigint REFERENCES outbox);"
        " CREATE TABLE cascades (id bigint REFERENCES outbox ON DELETE CASCADE);" TRIGGER(
            "", "BEFORE DELETE"),
        "",
        0,
        ""};

    fill(fixture, &refusal);
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "foreign key audit_id_fkey of table public.audit references");
    assert_says(fixture->process.out, "trigger refuse runs when the relay settles a row");
    assert_null(strstr(fixture->process.out, "cascades"));
    sql(fixture->conn, "CREATE PUBLICATION all_tables FOR TABLE outbox; DROP TABLE audit, cascades;"
                       " ALTER TABLE outbox DROP CONSTRAINT outbox_pkey");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "publication all_tables publishes each DELETE");
    sql(fixture->conn, "ALTER TABLE outbox REPLICA IDENTITY FULL");
    expect(fixture, run_command(fixture, "check"), 0);
    sql(fixture->conn, "CREATE RULE keep AS ON DELETE TO outbox WHERE OLD.topic = 'kept' DO INSTEAD"
                       " NOTHING");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "no row can be settled: database: cannot perform DELETE"
                                      " RETURNING on relation \"outbox\"");
}
