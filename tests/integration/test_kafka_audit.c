/* audit on Kafka: several partitions, what Kafka alone has, and planted faults. */
#include "base/clock.h"
#include "integration/audit_beside_relays.h"
#include "integration/auditing.h"
#include "integration/harness_kafka.h"
#include "integration/harness_services.h"
#include "integration/planted_faults.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PARTITIONS 4
#define WAIT_MS 20000
#define HOUR_MS (60 * 60 * 1000LL)

static int64_t time_of_record_ms; /* 0: now */

/* What the sink and the tables behind it begin with. */
static void write_audited(struct fixture *fixture, const char *sink, const char *rest)
{
    write_relay_toml(fixture,
                     "[relay]\npoll_interval = \"50ms\"\n[sink.bus]\ntype = \"kafka\"\nbrokers ="
                     " [\"%s\"]\nnull_headers = true\n%s\n[[route]]\nmatch = \"other\"\ntopic ="
                     " \"%s.{topic}\"\n[[route]]\nmatch = \">\"\ntopic = \"%s\"\n%s",
                     harness_env("TEST_KAFKA_BROKERS"), sink, fixture->name, fixture->name, rest);
}

static void configure_kafka(struct fixture *fixture)
{
    (void)snprintf(topic, sizeof topic, "%s", fixture->name);
    create_topic(PARTITIONS, NULL);
    write_audited(fixture, "", "");
}

static int set_up_kafka(void **state)
{
    return fixture_open(state, configure_kafka);
}

static int tear_down_kafka(void **state)
{
    forget_findings();
    forget_consumed();
    time_of_record_ms = 0;
    services_restore();
    return fixture_close(state);
}

ONCE(kafka_open_reader, kafka_close_reader)
FIXTURE(set_up_kafka, tear_down_kafka)

/* ---- what is done behind the relay's back ---- */

static void send_rows(struct fixture *fixture, int count)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type, payload, headers) SELECT 'a', 'k', 'T', to_jsonb(id)"
        ", '{\"h\": \"1\"}' FROM (SELECT i + (SELECT count(*) FROM outbox) AS id FROM"
        " generate_series(1, %d) i) ids",
        count);
    drain(fixture);
}

static int32_t partition_of_key; /* as the relay has chosen it */

static void produce(const char *key, const char *payload, rd_kafka_headers_t *headers)
{
    rd_kafka_t *producer = open_client(RD_KAFKA_PRODUCER, harness_env("TEST_KAFKA_BROKERS"));

    assert_int_equal(
        rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition_of_key),
                          RD_KAFKA_V_KEY(key, strlen(key)),
                          RD_KAFKA_V_VALUE((void *)(uintptr_t)payload, strlen(payload)),
                          RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_TIMESTAMP(time_of_record_ms),
                          RD_KAFKA_V_END),
        RD_KAFKA_RESP_ERR_NO_ERROR);
    assert_int_equal(rd_kafka_flush(producer, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_destroy(producer);
}

static void produce_unknown(const char *event_id)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(1);

    if (event_id != NULL)
        assert_int_equal(rd_kafka_header_add(headers, "id", -1, event_id, -1),
                         RD_KAFKA_RESP_ERR_NO_ERROR);
    produce("k", "1", headers);
}

/* The message of the row with this id, once more. */
static void repeat_row(int row)
{
    char payload[16];
    rd_kafka_headers_t *headers;

    (void)snprintf(payload, sizeof payload, "%d", row);
    consume(PARTITIONS, PLANTED_ROWS);
    assert_int_equal(rd_kafka_message_headers(consumed_value(payload), &headers),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
    partition_of_key = consumed_value(payload)->partition;
    produce("k", payload, rd_kafka_headers_copy(headers));
    forget_consumed();
}

/* Drops what is before this offset in this partition; -1: in each that has messages. */
static void drop_from(int32_t partition, int64_t offset)
{
    rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(PARTITIONS);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(reader);
    rd_kafka_DeleteRecords_t *request;
    rd_kafka_event_t *event;

    for (int i = 0; i < PARTITIONS; i++) {
        int64_t low;
        int64_t high;

        assert_int_equal(rd_kafka_query_watermark_offsets(reader, topic, i, &low, &high, WAIT_MS),
                         RD_KAFKA_RESP_ERR_NO_ERROR);
        if (high > 0 && (partition < 0 || i == partition))
            rd_kafka_topic_partition_list_add(offsets, topic, i)->offset = offset;
    }
    request = rd_kafka_DeleteRecords_new(offsets);
    rd_kafka_DeleteRecords(reader, &request, 1, NULL, queue);
    event = rd_kafka_queue_poll(queue, WAIT_MS);
    assert_non_null(event);
    assert_int_equal(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_event_destroy(event);
    rd_kafka_DeleteRecords_destroy(request);
    rd_kafka_queue_destroy(queue);
    rd_kafka_topic_partition_list_destroy(offsets);
}

static void drop_before(int64_t offset)
{
    drop_from(-1, offset);
}

/* "test" is the group of the tests' own client. */
static void assert_no_group(void)
{
    const struct rd_kafka_group_list *groups;

    assert_int_equal(rd_kafka_list_groups(reader, NULL, &groups, WAIT_MS),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
    for (int i = 0; i < groups->group_cnt; i++)
        assert_string_equal(groups->groups[i].group, "test");
    rd_kafka_group_list_destroy(groups);
}

/* ---- nothing is wrong ---- */

static void send_mixed(struct fixture *fixture, int count)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type, payload, headers) SELECT 'a', CASE WHEN i %% 5 > 0"
        " THEN 'k\xC3\xB6' || i %% 40 END, CASE WHEN i %% 4 > 0 THEN 'T' || i %% 3 END, CASE WHEN i"
        " %% 7 > 0 THEN jsonb_build_object('n', i, 't', repeat('x', i %% 300)) END, CASE i %% 4"
        " WHEN 0 THEN NULL WHEN 1 THEN '{\"h\": \"\xE2\x82\xAC\", \"H\": \" b \"}' WHEN 2 THEN"
        " '{\"null\": null, \"empty\": \"\"}' ELSE '{\"a b\": \"a: b\"}' END::jsonb FROM"
        " generate_series(1, %d) i",
        count);
    drain(fixture);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
}

FIXTURE_TEST(a_thousand_events_in_several_partitions_are_found_and_equal)
{
    send_mixed(fixture, 1000);
    audit_all(fixture, 0);
    assert_clean(fixture, 1000);
    assert_counted(fixture, "messages", 1000);
    assert_no_group();
}

FIXTURE_TEST(cloudevents_and_their_replays_are_found_and_equal)
{
    static const char *const modes[] = {"cloudevents = \"binary\"", "cloudevents = \"structured\""};

    for (int i = 0; i < 2; i++) {
        write_audited(fixture, modes[i], "[cloudevents]\nsource = \"/shop\"\n");
        sql(fixture->conn, "TRUNCATE outbox RESTART IDENTITY; TRUNCATE outbox_parked");
        send_rows(fixture, 49);
        sql(fixture->conn, "INSERT INTO outbox (topic, key, type, payload) VALUES ('a', 'k', 'T',"
                           " '{\"beyond a double\": 1e400}')");
        drain(fixture);
        expect_run(fixture, 0, "replay", "2", "3");
        drain(fixture);
        audit_all(fixture, 0);
        assert_clean(fixture, 50);
        assert_counted(fixture, "replayed", 2 + 2 * i);
        assert_counted(fixture, "too_old_messages", 50 * i); /* those of the other mode */
    }
}

FIXTURE_TEST(events_whose_keys_moved_to_added_partitions_are_found_and_equal)
{
    send_mixed(fixture, 200);
    grow_topic(PARTITIONS + 3);
    audit_all(fixture, 0);
    assert_clean(fixture, 200);
}

/* Where the rows would go now is not where retention has dropped them. */
FIXTURE_TEST(rows_that_were_dropped_before_partitions_were_added_are_too_old_to_tell)
{
    send_mixed(fixture, 200);
    drop_before(RD_KAFKA_OFFSET_END);
    grow_topic(PARTITIONS + 3);
    audit_all(fixture, 0);
    assert_counted(fixture, "too_old_rows", 200);
    send_mixed(fixture, 200);
    audit_all(fixture, 0);
    assert_counted(fixture, "too_old_rows", 200);
    assert_counted(fixture, "found", 200);
}

/* ---- planted faults ---- */

static void ignore_order(struct fixture *fixture)
{
    write_audited(fixture, "", "[outbox]\norder = \"none\"\n");
}

TEST(each_planted_fault_is_found_and_no_other)
{
    send_rows(*state, 1);
    send_rows(*state, PLANTED_ROWS - 1);
    find_planted_faults(*state, &(struct planting){.repeat = repeat_row,
                                                   .publish_unknown = produce_unknown,
                                                   .ignore_order = ignore_order,
                                                   .place = "topic",
                                                   .is_at = topic,
                                                   .position = "offset"});
    assert_no_group();
}

/* ---- what cannot be told ---- */

FIXTURE_TEST(rows_before_the_first_record_of_a_partition_are_too_old_to_tell)
{
    send_rows(fixture, 20);
    drop_before(10);
    audit_all(fixture, 0);
    assert_findings(fixture, (struct expected){0});
    assert_counted(fixture, "too_old_rows", 10);
    assert_counted(fixture, "found", 10);
    audit_of(fixture, 0, "--from", "5", "--to", "15");
    assert_counted(fixture, "too_old_rows", 6);
    assert_counted(fixture, "found", 5);
    drop_before(RD_KAFKA_OFFSET_END);
    audit_all(fixture, 0);
    assert_counted(fixture, "too_old_rows", 20);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) VALUES ('a', 'k', '1')");
    drain(fixture);
    send_rows(fixture, 1);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, sent_at) VALUES ('a', 'k', now())");
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.missing = 1});
    (void)finding_of(fixture, "missing", "23");
    assert_counted(fixture, "too_old_rows", 20);
}

/* One message for each of nine keys. Returns a number of a row that is not in this partition. */
static int send_to_several(struct fixture *fixture, int32_t *partition)
{
    int elsewhere = 0;

    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) SELECT 'a', 'k' || i, to_jsonb(i)"
                       " FROM generate_series(1, 9) i");
    drain(fixture);
    consume(PARTITIONS, 9);
    *partition = consumed_value("1")->partition;
    for (char value[] = "2"; value[0] <= '9'; value[0]++)
        if (consumed_value(value)->partition != *partition)
            elsewhere = value[0] - '0';
    forget_consumed();
    assert_true(elsewhere > 0);
    return elsewhere;
}

FIXTURE_TEST(a_partition_that_retention_has_emptied_hides_no_loss_in_the_others)
{
    int32_t emptied;
    int elsewhere = send_to_several(fixture, &emptied);

    drop_from(emptied, RD_KAFKA_OFFSET_END);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, sent_at) VALUES ('a', 'k%d', now())",
        elsewhere);
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.missing = 1});
    (void)finding_of(fixture, "missing", "10");
}

/* Retention has dropped what another partition held at that time; the row's own has it all. */
FIXTURE_TEST(a_loss_is_missing_whatever_part_of_the_table_is_audited)
{
    int elsewhere;

    delete_topic(topic);
    create_topic_with(PARTITIONS, "message.timestamp.type", "CreateTime");
    elsewhere = send_to_several(fixture, &partition_of_key);
    drop_from(partition_of_key, RD_KAFKA_OFFSET_END);
    time_of_record_ms = clock_wall_us() / 1000 + 4 * HOUR_MS;
    produce_unknown("other");
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, sent_at) VALUES ('a', 'k%d', now() + interval '3 hours')",
        elsewhere);
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.missing = 1, .unknown = 1});
    audit_of(fixture, 1, "--from", "10");
    assert_findings(fixture, (struct expected){.missing = 1, .unknown = 1});
}

/* Its time, as that program gives it, is in 1970. */
FIXTURE_TEST(a_message_of_another_program_does_not_tell_what_retention_has_dropped)
{
    delete_topic(topic);
    create_topic_with(PARTITIONS, "message.timestamp.type", "CreateTime");
    send_rows(fixture, 10);
    consume(PARTITIONS, 10);
    partition_of_key = consumed_value("1")->partition;
    forget_consumed();
    time_of_record_ms = 1000;
    produce_unknown(NULL);
    send_rows(fixture, 10);
    drop_before(10);
    audit_of(fixture, 0, "--from", "5");
    assert_findings(fixture, (struct expected){0});
    assert_counted(fixture, "too_old_rows", 6);
    assert_counted(fixture, "found", 10);
}

FIXTURE_TEST(messages_before_since_are_not_read)
{
    send_rows(fixture, 20);
    sql(fixture->conn, "UPDATE outbox SET sent_at = now() + interval '3 hours'");
    audit_of(fixture, 1, "--from", "1");
    assert_findings(fixture, (struct expected){.missing = 20});
    assert_counted(fixture, "messages", 0);
}

FIXTURE_TEST(a_topic_that_does_not_exist_is_named_and_a_compacted_one_misses_nothing)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, key, sent_at) VALUES ('other', 'k', now())");
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){.missing = 1});
    expect_run(fixture, 1, "audit");
    assert_says(fixture->process.out, "it does not exist");
    (void)snprintf(topic, sizeof topic, "%.50s.other", fixture->name);
    create_topic_with(1, "cleanup.policy", "compact");
    audit_all(fixture, 0);
    assert_counted(fixture, "too_old_rows", 1);
    expect_run(fixture, 0, "audit");
    assert_says(fixture->process.out, "it is compacted");
}

FIXTURE_TEST(a_sink_without_event_ids_is_not_audited)
{
    write_audited(fixture, "[sink.bus.headers]\nid = \"\"", "");
    send_rows(fixture, 3);
    expect_run(fixture, 2, "audit");
    assert_says(fixture->process.err, "no sink is configured that can be read back");
}

FIXTURE_TEST(rows_of_brokers_that_are_away_are_counted_as_not_read)
{
    send_rows(fixture, 3);
    write_relay_toml(fixture,
                     "[sink.bus]\ntype = \"kafka\"\nbrokers = [\"127.0.0.1:%d\"]\n[[route]]\n"
                     "match = \">\"\ntopic = \"%s\"\n",
                     harness_free_port(), topic);
    audit_all(fixture, 4);
    assert_findings(fixture, (struct expected){0});
    assert_counted(fixture, "not_read", 3);
}

/* ---- beside relays ---- */

TEST(an_audit_beside_relays_and_writers_finds_nothing)
{
    audit_beside_relays(*state);
}
