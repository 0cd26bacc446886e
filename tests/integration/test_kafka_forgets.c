/* A Kafka cluster that has lost what it acknowledged: nothing that is sent afterwards may be lost,
 * and the relay names what was lost before. */
#include "integration/harness.h"
#include "integration/harness_kafka.h"
#include "integration/harness_services.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOST "acknowledged messages are lost"

struct relay {
    const char *table;
    struct process process;
};

static struct relay first, second;

static void configure(struct fixture *fixture)
{
    (void)snprintf(topic, sizeof topic, "%s", fixture->name);
    create_topic(1, NULL);
    write_relay_toml(fixture, "[sink.events]\ntype = \"kafka\"\nbrokers = [\"%s\"]\n",
                     harness_env("TEST_KAFKA_BROKERS"));
}

static int set_up(void **state)
{
    (void)kafka_open_reader(NULL);
    return fixture_open(state, configure);
}

static int tear_down(void **state)
{
    process_end_all();
    forget_consumed();
    services_restore();
    (void)kafka_close_reader(NULL);
    return fixture_close(state);
}

FIXTURE(set_up, tear_down)

/* ---- relays ---- */

static void start_relay(struct fixture *fixture, struct relay *relay, const char *table,
                        const char *more)
{
    char name[64];
    char *config;

    (void)snprintf(name, sizeof name, "%s.toml", table);
    *relay = (struct relay){.table = table};
    config = strdup(harness_file(
        name,
        "[database]\nurl = \"%s\"\n[outbox]\ntable = \"public.%s\"\n[relay]\npoll_interval ="
        " \"20ms\"\n%s\n[sink.events]\ntype = \"kafka\"\nbrokers = [\"%s\"]\n[[route]]\nmatch ="
        " \">\"\ntopic = \"%s\"\n",
        fixture->url, table, more, harness_env("TEST_KAFKA_BROKERS"), topic));
    expect(fixture, run(fixture, "init", "-c", config), 0);
    process_start(&relay->process, NULL, "run", "-c", config, NULL);
    free(config);
}

static void insert(struct fixture *fixture, const struct relay *relay, int count)
{
    sql(fixture->conn,
        "INSERT INTO %s (topic, key, payload) SELECT 'a', 'k' || i, to_jsonb(i) FROM"
        " generate_series(1, %d) i",
        relay->table, count);
}

static void await_sent(struct fixture *fixture, const struct relay *relay)
{
    char query[128];

    (void)snprintf(query, sizeof query,
                   "SELECT (SELECT count(*) FROM %s WHERE sent_at IS NULL) +"
                   " (SELECT count(*) FROM %s_parked WHERE sent_at IS NULL)",
                   relay->table, relay->table);
    wait_for_number(fixture->conn, 0, query);
}

static void send_rows(struct fixture *fixture, const struct relay *relay, int count)
{
    insert(fixture, relay, count);
    await_sent(fixture, relay);
}

/* ---- the cluster ---- */

static void wipe(void)
{
    services("kill", "kafka");
    services("wipe", "kafka");
    services("start", "kafka");
    (void)kafka_close_reader(NULL);
    (void)kafka_open_reader(NULL);
    create_topic(1, NULL);
}

/* How many of the events that were sent since then are not in the topic. */
/* Of that many rows that were written since then. */
static int count_missing(struct fixture *fixture, const struct relay *relay, const char *since,
                         int count)
{
    int missing = 0;
    PGresult *ids;
    char query[256];

    (void)snprintf(query, sizeof query,
                   "SELECT event_id FROM %s WHERE created_at > '%s' ORDER BY id", relay->table,
                   since);
    ids = PQexec(fixture->conn, query);
    assert_int_equal(PQresultStatus(ids), PGRES_TUPLES_OK);
    assert_int_equal(PQntuples(ids), count);
    forget_consumed();
    consume(1, (int)stored(1));
    for (int i = 0; i < PQntuples(ids); i++) {
        bool found = false;

        for (int m = 0; m < consumed_count && !found; m++) {
            rd_kafka_headers_t *headers = NULL;
            const void *id = NULL;
            size_t len = 0;

            found = rd_kafka_message_headers(consumed[m], &headers) == 0 &&
                    rd_kafka_header_get_last(headers, "id", &id, &len) == 0 &&
                    strncmp(id, PQgetvalue(ids, i, 0), len) == 0;
        }
        missing += !found;
    }
    PQclear(ids);
    return missing;
}

static int times(void)
{
    const char *text = getenv("FORGETS_TIMES");

    return text != NULL ? (int)strtol(text, NULL, 10) : 1;
}

/* librdkafka #4898: a new cluster gives out the producer ids of the old one, and takes the messages
 * of a client that has outlived it for repeats of another's. FORGETS_TIMES: how often it is tried.
 */
static int count_lost_after_a_wipe(struct fixture *fixture, bool stopped)
{
    char since[64];
    int missing;

    wipe(); /* so that both relays get the first producer id */
    start_relay(fixture, &first, "outbox", "lanes = 1");
    send_rows(fixture, &first, 3);
    if (stopped)
        assert_int_equal(kill(first.process.pid, SIGSTOP), 0);
    wipe();
    if (stopped)
        assert_int_equal(kill(first.process.pid, SIGCONT), 0);
    else
        process_await_words(&first.process, LOST);
    (void)snprintf(since, sizeof since, "%s", sql_text(fixture->conn, "SELECT clock_timestamp()"));
    start_relay(fixture, &second, "other", "lanes = 1");
    for (int i = 0; i < 5; i++)
        send_rows(fixture, &second, 1);
    for (int i = 0; i < 4; i++)
        send_rows(fixture, &first, 1);
    process_await_words(&first.process, LOST);
    missing = count_missing(fixture, &first, since, 4) + count_missing(fixture, &second, since, 5);
    print_message("%d of 9 are missing; the loss before them was named %d times\n", missing,
                  process_count_words(&first.process, LOST));
    process_stop(&second.process, SIGTERM);
    process_free(&second.process);
    process_stop(&first.process, SIGTERM);
    process_free(&first.process);
    return missing;
}

static void lose_nothing_after_a_wipe(struct fixture *fixture, bool stopped)
{
    for (int i = 0; i < times(); i++)
        assert_int_equal(count_lost_after_a_wipe(fixture, stopped), 0);
}

TEST(a_relay_that_was_idle_names_what_a_wipe_took_and_loses_nothing_afterwards)
{
    lose_nothing_after_a_wipe(*state, false);
}

TEST(nothing_that_is_sent_after_a_wipe_is_lost_when_the_relay_was_stopped)
{
    lose_nothing_after_a_wipe(*state, true);
}
