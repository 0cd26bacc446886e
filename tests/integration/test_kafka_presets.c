/*
 * Each preset with the table as its framework makes it. A file of tests/integration/presets/ has
 * the rows as the framework writes them, the messages as it documents them, and what the table says
 * afterwards.
 *
 * A file has parts, each after a line "--- NAME". config: of the user; sql: the table and its rows;
 * status: of run --drain, if it is not 0; messages: a topic, key, headers by their names, and body;
 * select: what the table says; selected: its answer. $T stands for a word that no other test has.
 */
#include "integration/harness_kafka.h"
#include "integration/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTORY "tests/integration/presets/"
#define MESSAGES_MAX 16
#define LINE_BYTES 4096

static char topics[MESSAGES_MAX][256];
static int topic_count;

static int set_up_preset(void **state)
{
    topic_count = 0;
    return fixture_open_empty(state);
}

static int tear_down_preset(void **state)
{
    while (topic_count > 0)
        delete_topic(topics[--topic_count]);
    return fixture_close(state);
}

ONCE(kafka_open_reader, kafka_close_reader)
FIXTURE(set_up_preset, tear_down_preset)

/* The whole file, with the fixture's name for $T. free() it. */
static char *read_story(const struct fixture *fixture, const char *preset)
{
    char path[256];
    char line[LINE_BYTES];
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    FILE *in;

    (void)snprintf(path, sizeof path, DIRECTORY "%s.txt", preset);
    in = fopen(path, "r");
    assert_non_null(in);
    assert_non_null(out);
    while (fgets(line, sizeof line, in) != NULL) {
        const char *from = line;
        const char *at;

        for (; (at = strstr(from, "$T")) != NULL; from = at + 2)
            (void)fprintf(out, "%.*s%s", (int)(at - from), from, fixture->name);
        (void)fputs(from, out);
    }
    (void)fclose(in);
    (void)fclose(out);
    return text;
}

/* "": the file has no such part. free() it. */
static char *part(const char *story, const char *name)
{
    char heading[32];
    const char *from;
    const char *end;

    (void)snprintf(heading, sizeof heading, "--- %s\n", name);
    from = strstr(story, heading);
    if (from == NULL)
        return strdup("");
    from += strlen(heading);
    end = strstr(from, "--- ");
    return strndup(from, end != NULL ? (size_t)(end - from) : strlen(from));
}

static bool is_shown(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] < ' ' || bytes[i] == 0x7F)
            return false;
    return true;
}

static void put_bytes(FILE *out, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    if (bytes == NULL)
        (void)fputs("null", out);
    else if (is_shown(at, len))
        (void)fwrite(bytes, 1, len, out);
    else
        for (size_t i = 0; i < len; i++)
            (void)fprintf(out, "%s%02x", i == 0 ? "\\x" : "", at[i]);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the lines of a text. free() it. */
static char *sorted(char *text)
{
    char *lines[64];
    int count = 0;
    char *result = NULL;
    size_t len;
    FILE *out = open_memstream(&result, &len);

    for (char *line = strtok(text, "\n"); line != NULL && count < 64; line = strtok(NULL, "\n"))
        lines[count++] = line;
    qsort(lines, (size_t)count, sizeof *lines, compare_lines);
    for (int i = 0; i < count; i++)
        (void)fprintf(out, "%s\n", lines[i]);
    (void)fclose(out);
    return result;
}

static void put_headers(FILE *out, const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers = NULL;
    char *text = NULL;
    size_t text_len;
    FILE *lines = open_memstream(&text, &text_len);
    const char *name;
    const void *value;
    size_t len;

    if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR)
        for (size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &len) == 0; i++) {
            (void)fprintf(lines, "%s=", name);
            put_bytes(lines, value, len);
            (void)fputc('\n', lines);
        }
    (void)fclose(lines);
    {
        char *in_order = sorted(text);

        for (char *at = in_order; (at = strchr(at, '\n')) != NULL;)
            *at = at[1] != '\0' ? ',' : '\0';
        (void)fprintf(out, "[%s]", in_order);
        free(in_order);
    }
    free(text);
}

/* All messages of the topics, a line each, sorted, with their bodies or the sizes of these. free()
 * it. */
static char *arrived(bool with_bodies)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    char *result;

    for (int i = 0; i < topic_count; i++) {
        (void)snprintf(topic, sizeof topic, "%.63s", topics[i]);
        consume(1, (int)stored(1));
        for (int j = 0; j < consumed_count; j++) {
            (void)fprintf(out, "%s | ", topic);
            put_bytes(out, consumed[j]->key, consumed[j]->key_len);
            (void)fputs(" | ", out);
            put_headers(out, consumed[j]);
            (void)fputs(" | ", out);
            if (with_bodies)
                put_bytes(out, consumed[j]->payload, consumed[j]->len);
            else
                (void)fprintf(out, "%zu", consumed[j]->len);
            (void)fputc('\n', out);
        }
        forget_consumed();
    }
    (void)fclose(out);
    result = sorted(text);
    free(text);
    return result;
}

/* The topics that the expected messages name. */
static void make_topics(const char *messages)
{
    for (const char *line = messages; *line != '\0'; line = strchr(line, '\n') + 1) {
        bool known = false;

        (void)snprintf(topic, sizeof topic, "%.*s", (int)(strstr(line, " | ") - line), line);
        for (int i = 0; i < topic_count; i++)
            known = known || strcmp(topics[i], topic) == 0;
        if (known)
            continue;
        create_topic(1, NULL);
        (void)snprintf(topics[topic_count++], sizeof *topics, "%s", topic);
    }
}

static void make_table(struct fixture *fixture, const char *statements)
{
    sql(fixture->conn, "SET ROLE " HARNESS_RELAY);
    sql(fixture->conn, "%s", statements);
    sql(fixture->conn, "RESET ROLE");
}

static void configure_preset(struct fixture *fixture, const char *preset, const char *config)
{
    const char *outbox = strncmp(config, "[", 1) == 0 ? "" : config;

    write_relay_toml(fixture,
                     "[outbox]\npreset = \"%s\"\nadopt = true\n%s[sink.k]\ntype = \"kafka\"\n"
                     "brokers = [\"%s\"]\n%s[relay]\nlanes = 1\n",
                     preset, outbox, harness_env("TEST_KAFKA_BROKERS"),
                     outbox == config ? "" : config);
}

static void assert_selected(struct fixture *fixture, const char *query, const char *expected)
{
    PGresult *result = PQexec(fixture->conn, query);
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s", PQresultErrorMessage(result));
    for (int i = 0; i < PQntuples(result); i++)
        (void)fprintf(out, "%s\n", PQgetvalue(result, i, 0));
    (void)fclose(out);
    PQclear(result);
    assert_string_equal(text, expected);
    free(text);
}

/* introspect knows the table, where its columns are not too few to tell. */
static void assert_introspected(struct fixture *fixture, const char *preset)
{
    static const char *const others[][2] = {{"debezium-envelope", "preset     = \"debezium\""},
                                            {"watermill-forwarder", "[outbox.columns]"},
                                            {"status-column", "[outbox.columns]"},
                                            {"boolean-column", "[outbox.columns]"}};
    const char *said = NULL;
    char table[256];
    char own[96];

    (void)snprintf(
        table, sizeof table, "%s",
        sql_text(fixture->conn,
                 "SELECT regexp_replace(oid::regclass::text, '_parked(\"?)$', '\\1') FROM"
                 " pg_class WHERE relname LIKE '%%\\_parked' AND relkind = 'r'"));
    expect(fixture, run(fixture, "introspect", "-c", fixture->config, table), 0);
    (void)snprintf(own, sizeof own, "preset     = \"%s\"", preset);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i][0], preset) == 0)
            said = others[i][1];
    assert_says(fixture->process.out, said != NULL ? said : own);
}

/* What explain says of the rows that will be sent, as arrived() without bodies. free() it. */
static char *explained(struct fixture *fixture)
{
    char *text;

    expect_run(fixture, 0, "explain", "--json", "--last", "50");
    load_printed(fixture, fixture->process.out);
    text = strdup(sql_text(
        fixture->conn,
        "SELECT coalesce(string_agg(concat_ws(' | ', line->>'destination', coalesce(line->'key'->>"
        "'hex', line->>'key', 'null'), '[' || coalesce((SELECT string_agg(pair, ',' ORDER BY pair"
        " COLLATE \"C\") FROM (SELECT name || '=' || coalesce('\\x' || (value->>'hex'), value#>>'{}',"
        " 'null') AS pair FROM jsonb_each(line->'headers') h (name, value)) pairs), '') || ']',"
        " coalesce(line->>'payload_bytes', '0')), E'\\n'), '') FROM printed WHERE line->>'outcome' ="
        " 'send'"));
    sql(fixture->conn, "DROP TABLE printed");
    return text;
}

static void relay_preset(void **state, const char *preset)
{
    struct fixture *fixture = *state;
    char *story = read_story(fixture, preset);
    char *statements = part(story, "sql");
    char *config = part(story, "config");
    char *status = part(story, "status");
    char *messages = part(story, "messages");
    char *query = part(story, "select");
    char *selected = part(story, "selected");
    char *expected;
    char *found;
    char *told;

    make_topics(messages);
    make_table(fixture, statements);
    configure_preset(fixture, preset, config);
    init_existing(fixture);
    expect(fixture, run_command(fixture, "check"), 0);
    assert_introspected(fixture, preset);
    told = explained(fixture);
    expect(fixture, run_drain(fixture), atoi(status));
    found = arrived(true);
    expected = sorted(messages);
    assert_string_equal(found, expected);
    free(found);
    free(expected);
    found = arrived(false);
    expected = sorted(told);
    assert_string_equal(expected, found);
    free(told);
    assert_selected(fixture, query, selected);
    free(found);
    free(expected);
    free(story);
    free(statements);
    free(config);
    free(status);
    free(messages);
    free(query);
    free(selected);
}

#define PRESET(sentence, name)                                                                     \
    TEST(sentence)                                                                                 \
    {                                                                                              \
        relay_preset(state, name);                                                                 \
    }

PRESET(debezium_rows_leave_as_the_event_router_sends_them, "debezium")
PRESET(debezium_rows_leave_in_an_envelope, "debezium-envelope")
PRESET(open_outbox_rows_leave_as_its_relay_sends_them, "open-outbox")
PRESET(okapi_rows_leave_as_its_kafka_deliverer_sends_them, "okapi")
PRESET(eventuate_rows_leave_as_its_cdc_service_sends_them, "eventuate-tram")
PRESET(cap_rows_leave_as_its_kafka_transport_sends_them, "cap")
PRESET(modulith_1_rows_leave_as_its_externalizer_sends_them, "spring-modulith-v1")
PRESET(modulith_2_rows_leave_as_its_externalizer_sends_them, "spring-modulith-v2")
PRESET(namastack_rows_leave_as_its_kafka_handler_sends_them, "namastack")
PRESET(pg_transactional_outbox_rows_leave_with_their_payload, "pg-transactional-outbox")
PRESET(tomorrow_one_rows_leave_as_its_processor_sends_them, "tomorrow-one")
PRESET(watermill_envelopes_leave_as_the_forwarder_sends_them, "watermill-forwarder")
PRESET(watermill_queue_rows_leave_as_its_marshaler_sends_them, "watermill-queue")
PRESET(sbmt_outbox_rows_leave_with_the_headers_of_the_gem, "sbmt-outbox")
PRESET(rows_with_a_status_are_marked_sent, "status-column")
PRESET(rows_with_a_boolean_are_marked_processed, "boolean-column")
PRESET(masstransit_rows_leave_with_their_stored_envelope, "masstransit")
PRESET(wolverine_rows_leave_with_their_stored_envelope, "wolverine")
