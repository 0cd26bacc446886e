/* audit on JetStream: nothing is found where nothing is wrong, and each planted fault is found with
 * its id. */
#include "integration/audit_beside_relays.h"
#include "integration/auditing.h"
#include "integration/harness_services.h"
#include "integration/nats_reader.h"
#include "integration/planted_faults.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* What the sink and the tables behind it begin with. */
static void write_audited(struct fixture *fixture, const char *outbox, const char *sink,
                          const char *rest)
{
    write_relay_toml(
        fixture,
        "[outbox]\n%s\n[relay]\nlanes = 1\npoll_interval = \"50ms\"\n[retry]\nbackoff = "
        "\"10ms\"\nbackoff_max = \"50ms\"\nmax_attempts = 2\n[sink.bus]\ntype = "
        "\"nats\"\nservers = [\"%s\"]\nstream = \"%s\"\ncreate = true\nallow = "
        "[\"%s.>\"]\n%s\n[[route]]\nmatch = \">\"\ntopic = \"%s.{topic}\"\n%s",
        outbox, server_url(), fixture->name, fixture->name, sink, fixture->name, rest);
}

/* A repeat is stored after a tenth of a second. */
static void make_stream(struct fixture *fixture, jsStreamConfig *config)
{
    static char subject[sizeof prefix + 2];
    const char *subjects[] = {subject};

    (void)snprintf(stream, sizeof stream, "%.31s", fixture->name);
    (void)snprintf(prefix, sizeof prefix, "%.31s", fixture->name);
    (void)snprintf(subject, sizeof subject, "%s.>", prefix);
    config->Name = stream;
    config->Subjects = subjects;
    config->SubjectsLen = 1;
    config->Duplicates = 100 * 1000000LL;
    assert_int_equal(js_AddStream(NULL, context, config, NULL, NULL), NATS_OK);
}

static void configure_nats(struct fixture *fixture)
{
    jsStreamConfig config;

    (void)jsStreamConfig_Init(&config);
    make_stream(fixture, &config);
    write_audited(fixture, "", "", "");
}

static int set_up_nats(void **state)
{
    connect_reader();
    return fixture_open(state, configure_nats);
}

static int tear_down_nats(void **state)
{
    forget_findings();
    services_restore();
    (void)js_DeleteStream(context, stream, NULL, NULL);
    disconnect_reader();
    return fixture_close(state);
}

FIXTURE(set_up_nats, tear_down_nats)

static int close_library(void **state)
{
    (void)state;
    return nats_CloseAndWait(READER_WAIT_MS) == NATS_OK ? 0 : -1;
}

ONCE(NULL, close_library)

/* ---- what is done behind the relay's back ---- */

static void stream_again(struct fixture *fixture, jsStreamConfig *config)
{
    delete_stream(stream);
    make_stream(fixture, config);
}

/* Rows of one key, which are sent. */
static void send_rows(struct fixture *fixture, int count)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type, payload, headers) SELECT 'a', 'k', 'T', to_jsonb(i),"
        " '{\"h\": \"1\"}' FROM generate_series(1, %d) i",
        count);
    drain(fixture);
}

static void publish_copy(natsMsg *message)
{
    int64_t deadline_ms = clock_now_ms() + READER_WAIT_MS;
    bool stored_it = false;

    while (!stored_it) {
        jsPubAck *ack = NULL;

        assert_int_equal(js_PublishMsg(&ack, context, message, NULL, NULL), NATS_OK);
        stored_it = !ack->Duplicate;
        jsPubAck_Destroy(ack);
        assert_true(stored_it || clock_left_ms(deadline_ms) > 0);
    }
}

/* Once more at the end, as it is. */
static void repeat(uint64_t sequence)
{
    natsMsg *found = read_back(sequence);

    publish_copy(found);
    natsMsg_Destroy(found);
}

static void remove_message(uint64_t sequence)
{
    assert_int_equal(js_DeleteMsg(context, stream, sequence, NULL, NULL), NATS_OK);
}

static void publish_unknown(const char *event_id)
{
    natsMsg *message = NULL;
    char subject[sizeof prefix + 8];

    (void)snprintf(subject, sizeof subject, "%s.a", prefix);
    assert_int_equal(natsMsg_Create(&message, subject, NULL, "{}", 2), NATS_OK);
    if (event_id != NULL)
        assert_int_equal(natsMsgHeader_Set(message, "Nats-Msg-Id", event_id), NATS_OK);
    publish_copy(message);
    natsMsg_Destroy(message);
}

static void assert_no_consumer(void)
{
    jsStreamInfo *info = NULL;

    assert_int_equal(js_GetStreamInfo(&info, context, stream, NULL, NULL), NATS_OK);
    assert_int_equal(info->State.Consumers, 0);
    jsStreamInfo_Destroy(info);
}

/* ---- nothing is wrong ---- */

#define MIXED                                                                                      \
    "INSERT INTO outbox (topic, key, type, payload, headers) SELECT (ARRAY['a', 'b.c', 'd'])[i %%" \
    " 3 + 1], CASE WHEN i %% 5 > 0 THEN 'k\xC3\xB6' || i %% 40 END, CASE WHEN i %% 4 > 0 THEN 'T'" \
    " || i %% 3 END, CASE WHEN i %% 7 > 0 THEN jsonb_build_object('n', i, 't', repeat('x', i %%"   \
    " 300), 'u', '\xE2\x82\xAC') END, CASE i %% 6 WHEN 0 THEN NULL WHEN 1 THEN '{}' WHEN 2 THEN"   \
    " '{\"h\": \"1\", \"H2\": \"\xC3\xA4\xE2\x82\xAC\"}' WHEN 3 THEN '{\"empty\": \"\", \"n\":"    \
    " null, \"two\": \"\"}' WHEN 4 THEN jsonb_build_object('b', 'x  y', 'a', i::text, 'Ab', '1',"  \
    " 'aB', '2') ELSE '{\"h\": \"a: b\", \"i\": \"a:\"}' END::jsonb FROM generate_series(1, %d) i"

static void send_mixed(struct fixture *fixture, int count)
{
    sql(fixture->conn, MIXED, count);
    drain(fixture);
    assert_number(fixture->conn, 0, UNSENT);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
}

static void assert_mixed_is_clean(struct fixture *fixture, int count)
{
    send_mixed(fixture, count);
    audit_all(fixture, 0);
    assert_clean(fixture, count);
    assert_counted(fixture, "messages", count);
    assert_no_consumer();
}

FIXTURE_TEST(no_event_one_event_and_a_thousand_of_all_kinds_are_found_and_equal)
{
    audit_all(fixture, 0);
    assert_clean(fixture, 0);
    assert_mixed_is_clean(fixture, 1);
    send_mixed(fixture, 999);
    audit_all(fixture, 0);
    assert_clean(fixture, 1000);
}

TEST(events_that_templates_several_routes_and_names_of_headers_have_changed_are_found_and_equal)
{
    struct fixture *fixture = *state;

    write_relay_toml(
        fixture,
        "[sink.bus]\ntype = \"nats\"\nservers = [\"%s\"]\nstream = \"%s\"\nallow ="
        " [\"%s.>\"]\n[sink.bus.headers]\nid = \"\"\ntype = \"x-type\"\ncreated_at = "
        "\"\"\nkey = \"x-key\"\n[[route]]\nmatch = \"b.*\"\ntopic = \"%s.other.{topic}\"\n"
        "key = \"{topic}-{key}\"\n[[route]]\nmatch = \">\"\ntopic = \"%s.{topic}\"\n",
        server_url(), stream, prefix, prefix, prefix);
    assert_mixed_is_clean(fixture, 300);
}

FIXTURE_TEST(cloudevents_in_both_modes_are_found_and_equal)
{
    static const char *const modes[] = {"cloudevents = \"binary\"", "cloudevents = \"structured\""};

    for (int i = 0; i < 2; i++) {
        write_audited(fixture, "", modes[i], "[cloudevents]\nsource = \"/shop\"\ntype = \"any\"\n");
        sql(fixture->conn, "TRUNCATE outbox");
        sql(fixture->conn,
            "INSERT INTO outbox (topic, key, type, payload, headers) SELECT 'a', 'k' || i %% 9,"
            " CASE WHEN i %% 2 = 0 THEN 'T' END, CASE WHEN i %% 7 > 0 THEN jsonb_build_object('n',"
            " i, 't', '\xE2\x82\xAC') END, CASE WHEN i %% 3 = 0 THEN '{\"h\": \"\xC3\xA4\"}'::jsonb"
            " END FROM generate_series(1, 200) i");
        drain(fixture);
        assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
        audit_all(fixture, 0);
        assert_clean(fixture, 200);
        assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
    }
}

/* A table as an application has it. */
static void use_table(struct fixture *fixture, const char *columns, const char *outbox)
{
    sql(fixture->conn, "SET client_min_messages = warning; DROP TABLE IF EXISTS outbox,"
                       " outbox_parked, outbox_slice, outbox_control");
    sql(fixture->conn,
        "CREATE TABLE outbox (%s, kind text NOT NULL, status text NOT NULL DEFAULT 'NEW', sent_on"
        " timestamptz)",
        columns);
    say_only_relay_writes(fixture, "outbox.sent_on");
    write_audited(fixture, outbox, "", "");
    init_existing(fixture);
}

static void use_table_with(struct fixture *fixture, const char *payload_type, const char *outbox)
{
    char columns[128];

    (void)snprintf(columns, sizeof columns,
                   "seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body %s", payload_type);
    use_table(fixture, columns, outbox);
}

#define OWN_TABLE                                                                                  \
    "adopt = true\nwhere = \"status = 'NEW'\"\nmark = \"status = 'SENT', sent_on = now()\"\n"      \
    "[outbox.columns]\nid = \"seq\"\nevent_id = \"(kind || '-' || seq)\"\ntopic = \"kind\"\nkey"   \
    " = \"(kind || seq % 3)\"\ntype = \"\"\npayload = \"body\"\nheaders = \"\"\ncreated_at ="      \
    " \"\"\n"
#define OWN_HEADERS "[outbox.headers]\n\"x-seq\" = \"(seq::text)\"\n\"x-none\" = \"(NULL::text)\"\n"

FIXTURE_TEST(a_table_with_expressions_and_payloads_of_text_or_bytes_is_found_and_equal)
{
    static const char *const types[] = {"text", "bytea", "json"};
    static const char *const values[] = {"'text \xE2\x82\xAC ' || i", "'\\x00ff0a'::bytea",
                                         "('{\"a\":   ' || i || '}')::json"};

    for (int i = 0; i < 3; i++) {
        use_table_with(fixture, types[i], OWN_TABLE "sent_at = \"sent_on\"\n" OWN_HEADERS);
        sql(fixture->conn, "INSERT INTO outbox (kind) VALUES ('first')");
        drain(fixture);
        sql(fixture->conn,
            "INSERT INTO outbox (kind, body) SELECT 'a', CASE WHEN i %% 5 > 0 THEN %s END FROM"
            " generate_series(1, 50) i",
            values[i]);
        drain(fixture);
        audit_all(fixture, 0);
        assert_clean(fixture, 51);
        sql(fixture->conn, "UPDATE outbox SET kind = 'b' WHERE seq = 7");
        audit_all(fixture, 1);
        assert_findings(fixture, (struct expected){.missing = 1, .unknown = 1});
        (void)finding_of(fixture, "missing", "7");
        (void)finding_of(fixture, "unknown", "a-7");
        assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
    }
}

/* Event ids are looked up 20,000 at a time, in the order of the ids. */
FIXTURE_TEST(events_are_looked_up_in_a_table_whose_id_has_the_name_of_another_column)
{
    use_table(fixture, "event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
              "adopt = true\nwhere = \"status = 'NEW'\"\nmark = \"status = 'SENT', sent_on ="
              " now()\"\n[outbox.columns]\nid = \"event_id\"\nevent_id = \"('e' || event_id)\""
              "\ntopic = \"kind\"\nkey = \"\"\ntype = \"\"\npayload = \"(kind)\"\nheaders = \"\"\n"
              "created_at = \"\"\nsent_at = \"sent_on\"\n");
    sql(fixture->conn, "INSERT INTO outbox (kind, status) SELECT 'a', CASE n WHEN 99 THEN 'NEW'"
                       " ELSE 'SENT' END FROM generate_series(1, 20500) n");
    drain(fixture);
    sql(fixture->conn, "UPDATE outbox SET sent_on = now() - interval '10 min'");
    audit_of(fixture, 0, "--since", "5m");
    assert_findings(fixture, (struct expected){0});
    assert_counted(fixture, "messages", 1);
}

FIXTURE_TEST(a_mark_that_does_not_say_when_is_named)
{
    use_table_with(fixture, "text", OWN_TABLE "sent_at = \"\"\n");
    sql(fixture->conn, "INSERT INTO outbox (kind) VALUES ('a')");
    drain(fixture);
    repeat(1);
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.again = 1});
    assert_counted(fixture, "untold", 1);
    assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
    audit_all(fixture, 2);
    assert_says(fixture->process.err, "[outbox] mark does not say when a row was sent");
}

/* ---- planted faults ---- */

static void repeat_row(int row)
{
    repeat((uint64_t)row);
}

static void ignore_order(struct fixture *fixture)
{
    write_audited(fixture, "order = \"none\"", "", "");
}

TEST(each_planted_fault_is_found_and_no_other)
{
    send_rows(*state, 1);
    send_rows(*state, PLANTED_ROWS - 1);
    find_planted_faults(*state, &(struct planting){.repeat = repeat_row,
                                                   .publish_unknown = publish_unknown,
                                                   .ignore_order = ignore_order,
                                                   .place = "stream",
                                                   .is_at = stream,
                                                   .position = "sequence",
                                                   .first = 1});
}

FIXTURE_TEST(messages_deleted_from_the_middle_or_the_end_of_the_stream_are_missing)
{
    send_rows(fixture, 20);
    remove_message(7);
    remove_message(20);
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.missing = 2});
    (void)finding_of(fixture, "missing", "7");
    (void)finding_of(fixture, "missing", "20");
    expect_run(fixture, 1, "audit");
    assert_says(fixture->process.out, "           2  missing at the broker\n              row ");
    assert_says(fixture->process.out, "\n              row 7, event ");
    assert_says(fixture->process.out, "\n              row 20, event ");
}

FIXTURE_TEST(messages_older_than_the_rows_that_are_left_are_too_old_to_tell)
{
    send_rows(fixture, 5);
    sql(fixture->conn, "DELETE FROM outbox");
    audit_all(fixture, 0);
    assert_counted(fixture, "too_old_messages", 5);
    send_rows(fixture, 5);
    audit_all(fixture, 0);
    assert_counted(fixture, "too_old_messages", 5);
    assert_counted(fixture, "found", 5);
}

/* A row that cannot be deleted is older than those that the janitor has deleted. */
FIXTURE_TEST(messages_older_than_the_retention_are_too_old_to_tell)
{
    send_rows(fixture, 5);
    remove_message(1);
    sql(fixture->conn, "UPDATE outbox SET sent_at = now() - interval '8 days' WHERE id = 1;"
                       " DELETE FROM outbox WHERE id = 3");
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.unknown = 1});
    write_audited(fixture, "retention = \"1s\"", "", "");
    sql(fixture->conn, "SELECT pg_sleep_until(max(sent_at) + interval '1100 ms') FROM outbox");
    audit_all(fixture, 0);
    assert_counted(fixture, "too_old_messages", 1);
}

FIXTURE_TEST(a_message_that_was_moved_behind_later_ones_of_its_key_is_late)
{
    const json_t *finding;

    send_rows(fixture, 20);
    repeat(5);
    remove_message(5);
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.late = 1});
    finding = finding_of(fixture, "late", "5");
    assert_int_equal(json_integer_value(json_object_get(finding, "sequence")), 21);
    assert_int_equal(json_integer_value(json_object_get(finding, "after")), 20);
}

/* ---- what is asked for ---- */

FIXTURE_TEST(only_the_rows_that_are_asked_for_are_judged)
{
    send_rows(fixture, 20);
    remove_message(3);
    remove_message(10);
    audit_of(fixture, 1, "--from", "4", "--to", "12");
    assert_findings(fixture, (struct expected){.missing = 1});
    (void)finding_of(fixture, "missing", "10");
    assert_counted(fixture, "rows", 9);
    assert_counted(fixture, "other_rows", 10);
    audit_of(fixture, 0, "--from", "11");
    assert_findings(fixture, (struct expected){0});
    assert_counted(fixture, "rows", 10);
    audit_of(fixture, 1, "--to", "3");
    (void)finding_of(fixture, "missing", "3");
    audit_of(fixture, 0, "--from", "100");
    assert_counted(fixture, "rows", 0);
    sql(fixture->conn, "UPDATE outbox SET sent_at = now() - interval '30 minutes' WHERE id <= 5");
    audit_of(fixture, 1, "--since", "10m");
    assert_findings(fixture, (struct expected){.missing = 1});
    assert_counted(fixture, "rows", 15);
    assert_no_consumer();
}

FIXTURE_TEST(messages_that_were_stored_long_before_since_are_not_read)
{
    send_rows(fixture, 20);
    audit_of(fixture, 0, "--since", "2026-01-31 22:15");
    assert_counted(fixture, "messages", 20);
    sql(fixture->conn, "UPDATE outbox SET sent_at = now() + interval '3 hours'");
    audit_of(fixture, 1, "--from", "1");
    assert_findings(fixture, (struct expected){.missing = 20});
    assert_counted(fixture, "messages", 0);
}

FIXTURE_TEST(one_sink_alone_is_audited_and_the_others_are_named)
{
    send_rows(fixture, 5);
    remove_message(2);
    write_relay_toml(fixture,
                     "[sink.bus]\ntype = \"nats\"\nservers = [\"%s\"]\nstream = \"%s\"\n[sink.same]"
                     "\ntype = \"nats\"\nservers = [\"%s\"]\nstream = \"%s\"\n[sink.away]\ntype ="
                     " \"nats\"\nservers = [\"nats://127.0.0.1:%d\"]\nstream = \"%s\"\n" STDOUT_SINK
                     "\n[[route]]\nmatch = \"a\"\nsink = \"bus\"\ntopic = \"%s.{topic}\"\n[[route]]"
                     "\nmatch = \"o\"\nsink = \"out\"\n[[route]]\nmatch = \"w\"\nsink = \"away\"\n",
                     server_url(), stream, server_url(), stream, harness_free_port(), stream,
                     prefix);
    sql(fixture->conn, "INSERT INTO outbox (topic, sent_at) VALUES ('o', now()), ('w', now()),"
                       " ('w', now()), ('none', now())");
    audit_of(fixture, 1, "--sink", "bus");
    assert_findings(fixture, (struct expected){.missing = 1});
    assert_counted(fixture, "rows", 5);
    assert_counted(fixture, "without_route", 1);
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.missing = 1});
    assert_counted(fixture, "not_read", 2);
    assert_counted(fixture, "messages", 8); /* each of the two sinks is read */
    expect_run(fixture, 1, "audit");
    assert_says(fixture->process.out, "sink out was not audited");
    assert_says(fixture->process.out, "sink away could not be read to the end");
    audit_of(fixture, 4, "--sink", "away");
    assert_counted(fixture, "not_read", 2);
    expect_run(fixture, 2, "audit", "--sink", "out");
    expect_run(fixture, 2, "audit", "--sink", "x");
}

/* ---- what cannot be told ---- */

FIXTURE_TEST(rows_that_were_sent_before_a_purge_are_too_old_to_tell)
{
    send_rows(fixture, 20);
    assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
    audit_all(fixture, 0);
    assert_findings(fixture, (struct expected){0});
    assert_counted(fixture, "too_old_rows", 20);
    send_rows(fixture, 20);
    send_rows(fixture, 20);
    remove_message(50);
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.missing = 1});
    (void)finding_of(fixture, "missing", "50");
    assert_counted(fixture, "too_old_rows", 20);
}

/* Of the progress of a minute the last one is left, which may be younger than the purge. */
FIXTURE_TEST(rows_that_were_sent_in_the_minute_of_a_purge_are_too_old_to_tell_by_a_position)
{
    write_audited(fixture, "on_sent = \"position\"", "", "");
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_slice, outbox_control CASCADE;"
                       " DROP SEQUENCE IF EXISTS outbox_order_seq CASCADE");
    expect_run(fixture, 0, "init");
    send_rows(fixture, 20);
    assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
    send_rows(fixture, 1);
    send_rows(fixture, 1);
    remove_message(22);
    sql(fixture->conn, "UPDATE outbox_progress SET settled_at = settled_at + interval '50 s' *"
                       " CASE top WHEN 20 THEN 1 WHEN 22 THEN 2 ELSE 0 END");
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.missing = 1});
    (void)finding_of(fixture, "missing", "22");
    assert_counted(fixture, "too_old_rows", 20);
}

/* Of the first: its rows were marked after the first message that is left was stored. */
FIXTURE_TEST(a_stream_that_drops_messages_by_its_limits_misses_none)
{
    static const struct {
        int64_t most, most_of_subject;
        int rows, found;
        const char *note;
    } streams[] = {{100, -1, 400, 100, ""}, {-1, 1, 20, 1, "max_msgs_per_subject"}};

    for (int i = 0; i < 2; i++) {
        jsStreamConfig config;

        (void)jsStreamConfig_Init(&config);
        config.MaxMsgs = streams[i].most;
        config.MaxMsgsPerSubject = streams[i].most_of_subject;
        stream_again(fixture, &config);
        sql(fixture->conn, "TRUNCATE outbox");
        send_rows(fixture, streams[i].rows);
        audit_all(fixture, 0);
        assert_findings(fixture, (struct expected){0});
        assert_counted(fixture, "found", streams[i].found);
        assert_counted(fixture, "too_old_rows", streams[i].rows - streams[i].found);
        expect_run(fixture, 0, "audit");
        assert_says(fixture->process.out, streams[i].note);
    }
}

/* What an audit reads is there for the stream's own consumers all the same. */
FIXTURE_TEST(an_interest_stream_keeps_what_its_consumers_have_not_read)
{
    jsStreamConfig config;
    jsConsumerConfig consumer;
    jsConsumerInfo *info = NULL;

    (void)jsStreamConfig_Init(&config);
    config.Retention = js_InterestPolicy;
    stream_again(fixture, &config);
    (void)jsConsumerConfig_Init(&consumer);
    consumer.Durable = "worker";
    consumer.AckPolicy = js_AckExplicit;
    assert_int_equal(js_AddConsumer(&info, context, stream, &consumer, NULL, NULL), NATS_OK);
    jsConsumerInfo_Destroy(info);
    send_rows(fixture, 20);
    remove_message(7);
    for (int i = 0; i < 2; i++) {
        audit_all(fixture, 0);
        assert_counted(fixture, "found", 19);
        assert_counted(fixture, "too_old_rows", 1);
        assert_int_equal(stored(stream), 19);
    }
}

FIXTURE_TEST(a_work_queue_cannot_be_read_and_loses_nothing_nor_can_a_stream_that_is_not_there)
{
    jsStreamConfig config;

    (void)jsStreamConfig_Init(&config);
    config.Retention = js_WorkQueuePolicy;
    stream_again(fixture, &config);
    send_rows(fixture, 20);
    audit_all(fixture, 4);
    assert_findings(fixture, (struct expected){0});
    assert_counted(fixture, "not_read", 20);
    assert_int_equal(stored(stream), 20);
    assert_no_consumer();
    delete_stream(stream);
    audit_all(fixture, 4);
    assert_counted(fixture, "not_read", 20);
    assert_says(fixture->process.err, "the stream does not exist");
}

FIXTURE_TEST(rows_of_a_server_that_is_away_are_counted_as_not_read)
{
    send_rows(fixture, 3);
    services("stop", "nats");
    audit_all(fixture, 4);
    assert_findings(fixture, (struct expected){0});
    assert_counted(fixture, "not_read", 3);
    services("start", "nats");
    disconnect_reader();
    connect_reader();
    audit_all(fixture, 0);
    assert_clean(fixture, 3);
}

/* ---- rights ---- */

FIXTURE_TEST(a_role_that_may_only_select_audits)
{
    send_rows(fixture, 3);
    remove_message(2);
    sql(fixture->conn,
        "SET client_min_messages = warning; DROP ROLE IF EXISTS auditor;"
        " CREATE ROLE auditor LOGIN; REVOKE ALL ON outbox, outbox_parked FROM PUBLIC");
    log_in_as(fixture, "auditor");
    write_audited(fixture, "", "", "");
    expect_run(fixture, 3, "audit");
    assert_says(fixture->process.err, "permission denied for table outbox");
    sql(fixture->conn, "GRANT SELECT ON outbox, outbox_parked TO auditor");
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.missing = 1});
    expect_run(fixture, 3, "audit", "--repair", "--yes");
    sql(fixture->conn, "DROP OWNED BY auditor; DROP ROLE auditor");
}

FIXTURE_TEST(with_deleted_rows_repeats_are_found_and_the_rest_is_named)
{
    write_audited(fixture, "on_sent = \"delete\"", "", "");
    send_rows(fixture, 10);
    audit_all(fixture, 2);
    assert_findings(fixture, (struct expected){0});
    assert_counted(fixture, "untold", 10);
    assert_says(fixture->process.err, "on_sent = \"delete\"");
    repeat(4);
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.again = 1});
    assert_counted(fixture, "untold", 10);
}

/* ---- parked rows, and what was sent again ---- */

/* The rows of its key wait behind it; those without a key do not. */
FIXTURE_TEST(a_row_that_was_dead_and_then_sent_is_found)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, key, headers) VALUES ('a', 'k', NULL), ('a',"
                       " 'k', '{\"bad name\": \"1\"}'), ('a', 'k', NULL), ('a', NULL, NULL)");
    expect(fixture, run_drain(fixture), 1);
    audit_all(fixture, 0);
    assert_clean(fixture, 2);
    sql(fixture->conn, "UPDATE outbox_parked SET headers = '{}' WHERE state = 'dead'");
    expect_run(fixture, 0, "dead", "retry", "2");
    drain(fixture);
    audit_all(fixture, 0);
    assert_clean(fixture, 4);
    assert_counted(fixture, "messages", 4);
}

FIXTURE_TEST(a_row_that_was_parked_while_later_ones_of_its_key_left_is_no_finding)
{
    send_rows(fixture, 3);
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, key, state, due) VALUES"
                       " (0, gen_random_uuid(), 'a', 'k', 'retry', now())");
    drain(fixture);
    audit_all(fixture, 0);
    assert_clean(fixture, 4);
    assert_counted(fixture, "late_parked", 1);
}

FIXTURE_TEST(replayed_rows_are_no_findings_within_the_window_and_after_it)
{
    send_rows(fixture, 10);
    for (int i = 1; i <= 2; i++) {
        expect_run(fixture, 0, "replay", "3", "4");
        drain(fixture);
        audit_all(fixture, 0);
        assert_clean(fixture, 10);
        assert_counted(fixture, "replayed", 2 * i);
        assert_counted(fixture, "late_replayed", 0);
    }
    repeat(3);
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.again = 1});
}

FIXTURE_TEST(replayed_rows_are_recognised_without_a_header_for_the_id)
{
    static const char *const sinks[] = {"[sink.bus.headers]\nid = \"\"", "cloudevents = \"binary\"",
                                        "cloudevents = \"structured\""};

    for (int i = 0; i < 3; i++) {
        write_audited(fixture, "", sinks[i], i > 0 ? "[cloudevents]\nsource = \"/shop\"\n" : "");
        sql(fixture->conn, "TRUNCATE outbox RESTART IDENTITY; TRUNCATE outbox_parked");
        send_rows(fixture, 5);
        expect_run(fixture, 0, "replay", "2", "3");
        drain(fixture);
        audit_all(fixture, 0);
        assert_clean(fixture, 5);
        assert_counted(fixture, "replayed", 2);
        assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
    }
}

/* ---- repair ---- */

static void assert_repaired_in_order(struct fixture *fixture, int first, int count)
{
    for (int i = 0; i < count; i++) {
        natsMsg *found = read_back((uint64_t)(first + i));
        const char *id = NULL;
        const char *replayed = NULL;

        assert_int_equal(natsMsgHeader_Get(found, "id", &id), NATS_OK);
        assert_int_equal(natsMsgHeader_Get(found, "replayed_at", &replayed), NATS_OK);
        assert_number(fixture->conn, 5 + 10 * i, "SELECT id FROM outbox WHERE event_id = '%s'", id);
        natsMsg_Destroy(found);
    }
}

FIXTURE_TEST(repair_sends_exactly_what_is_missing_in_the_order_of_the_ids)
{
    send_rows(fixture, 100);
    for (int i = 0; i < 9; i++)
        remove_message((uint64_t)(5 + 10 * i));
    expect_run(fixture, 2, "audit", "--repair");
    assert_says(fixture->process.err, "--yes");
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
    expect_run(fixture, 1, "audit", "--sink", "bus", "--since", "1h");
    assert_says(fixture->process.out, ", topic a, key k\n");
    assert_says(fixture->process.out,
                "\nfix: outbox-relay audit --repair --sink 'bus' --since '1h'\n"
                "  see docs/audit.md, 'When a broker lost what");
    expect_run(fixture, 0, "audit", "--repair", "--yes");
    assert_says(fixture->process.out, "           9  missing at the broker");
    assert_says(fixture->process.err, "sent again: 9");
    expect_run(fixture, 1, "audit", "--repair", "--yes");
    assert_says(fixture->process.err, "sent again: 0");
    assert_says(fixture->process.err, "waiting to be sent again already: 9");
    drain(fixture);
    assert_int_equal(stored(stream), 100);
    assert_repaired_in_order(fixture, 101, 9);
    audit_all(fixture, 0);
    assert_clean(fixture, 100);
    assert_counted(fixture, "late_replayed", 9);
    expect_run(fixture, 0, "audit", "--repair", "--yes");
    assert_says(fixture->process.err, "nothing to repair");
    drain(fixture);
    assert_int_equal(stored(stream), 100);
    assert_no_consumer();
}

FIXTURE_TEST(repair_sends_a_row_again_that_had_been_parked)
{
    send_rows(fixture, 3);
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, state, due) VALUES (700,"
                       " gen_random_uuid(), 'a', 'retry', now())");
    drain(fixture);
    send_rows(fixture, 1);
    remove_message(4);
    expect_run(fixture, 0, "audit", "--repair", "--yes");
    assert_says(fixture->process.out, "row 700,");
    drain(fixture);
    audit_all(fixture, 0);
    assert_clean(fixture, 5);
    assert_counted(fixture, "replayed", 1);
}

/* ---- beside relays ---- */

static void assert_said_of_losses(struct fixture *fixture, bool said)
{
    const char *words = "bus may have lost events that it had acknowledged";

    expect_run(fixture, 0, "status", "--json");
    assert_int_equal(strstr(fixture->process.out, words) != NULL, said);
    assert_int_equal(strstr(fixture->process.out, "outbox-relay audit --sink bus --since ") != NULL,
                     said);
    expect_run(fixture, 0, "check");
    assert_int_equal(strstr(fixture->process.out, words) != NULL, said);
}

TEST(a_stream_that_was_made_anew_is_named_by_a_relay_that_starts_until_an_audit_of_that_time)
{
    struct fixture *fixture = *state;
    jsStreamConfig config;

    (void)jsStreamConfig_Init(&config);
    send_rows(fixture, 20);
    assert_said_of_losses(fixture, false);
    stream_again(fixture, &config);
    drain(fixture);
    assert_non_null(strstr(fixture->process.err, "acknowledged messages are lost"));
    assert_said_of_losses(fixture, true);
    audit_of(fixture, 0, "--since", "2100-01-01");
    assert_said_of_losses(fixture, true);
    audit_of(fixture, 1, "--sink", "bus");
    assert_counted(fixture, "missing", 20);
    assert_said_of_losses(fixture, false);
    drain(fixture);
    assert_null(strstr(fixture->process.err, "acknowledged messages are lost"));
}

static void purge_all(struct fixture *fixture, int left)
{
    expect_run(fixture, 0, "purge", "--older-than", "0");
    assert_int_equal(strstr(fixture->process.err, "may have lost events is kept") != NULL,
                     left > 0);
    assert_number(fixture->conn, left, "SELECT count(*) FROM outbox");
}

FIXTURE_TEST(what_was_sent_since_a_loss_is_not_purged_until_it_is_repaired_or_a_day_after_the_audit)
{
    jsStreamConfig config;

    (void)jsStreamConfig_Init(&config);
    send_rows(fixture, 20);
    stream_again(fixture, &config);
    drain(fixture);
    purge_all(fixture, 20);
    audit_of(fixture, 1, "--sink", "bus");
    assert_counted(fixture, "missing", 20);
    assert_said_of_losses(fixture, false);
    purge_all(fixture, 20);
    for (int i = 0; i < 2; i++) { /* each audit that finds them missing holds them for a day */
        sql(fixture->conn, "UPDATE outbox_control SET set_at = set_at - interval '20 hours' WHERE"
                           " name LIKE 'audited %%'");
        purge_all(fixture, 20);
        audit_of(fixture, 1, "--sink", "bus");
    }
    expect_run(fixture, 0, "audit", "--repair", "--yes");
    assert_says(fixture->process.err, "to be sent again: 20");
    drain(fixture);
    purge_all(fixture, 20);
    sql(fixture->conn, "UPDATE outbox_control SET set_at = set_at - interval '25 hours' WHERE name"
                       " LIKE 'audited %%'");
    purge_all(fixture, 0);
}

FIXTURE_TEST(an_audit_ends_no_warning_of_a_sink_that_its_configuration_lacks)
{
    const char *printed;

    send_rows(fixture, 1);
    sql(fixture->conn, "INSERT INTO outbox_control (kind, name, value) VALUES ('setting',"
                       " 'lost old/s', '{\"sink\": \"old\", \"text\": \"it was made anew\"}')");
    audit_all(fixture, 0);
    expect_run(fixture, 0, "status");
    assert_says(fixture->process.out, "sink old may have lost events");
    expect_run(fixture, 2, "audit", "--sink", "old");
    assert_says(fixture->process.err, "no [sink.old] is configured");
    assert_says(fixture->process.err, "starts_with(name, 'lost old/')");
    printed = strstr(fixture->process.err, "DELETE FROM ");
    assert_non_null(printed);
    sql(fixture->conn, "%.*s", (int)(strstr(printed, "/')") + 3 - printed), printed);
    expect_run(fixture, 0, "status");
    assert_null(strstr(fixture->process.out, "may have lost"));
}

FIXTURE_TEST(where_the_table_does_not_say_what_was_sent_no_audit_ends_the_warning)
{
    send_rows(fixture, 2);
    sql(fixture->conn,
        "INSERT INTO outbox_control (kind, name, value) VALUES ('setting',"
        " 'lost bus/s', '{\"sink\": \"bus\", \"text\": \"it was made anew\", \"since\":"
        " \"2026-01-01T00:00:00Z\"}')");
    assert_said_of_losses(fixture, true);
    write_audited(fixture, "on_sent = \"delete\"", "", "");
    expect_run(fixture, 2, "audit", "--sink", "bus");
    assert_says(fixture->process.err, "DELETE FROM \"public\".\"outbox_control\" WHERE");
    assert_said_of_losses(fixture, true);
}

TEST(an_audit_beside_relays_and_writers_finds_nothing)
{
    audit_beside_relays(*state);
    assert_no_consumer();
}
