/* What PostgreSQL makes of relays' answers, of a document, and of limits, without relays. */
#include "integration/harness.h"

#include "admin/admin_session.h"
#include "admin/status/document.h"
#include "admin/status/status.h"
#include "source/json.h"
#include "sql/statements.h"

#include <stdlib.h>
#include <string.h>

static char url[256];
static PGconn *conn;
static struct outbox_options options;
static struct admin *admin;
static json_t *document;

static int set_up(void **state)
{
    static char table[] = "public.outbox";
    struct error error;
    char *executed;
    char *missing = NULL;

    (void)state;
    conn = harness_database(url);
    options = (struct outbox_options){.url = url,
                                      .table = table,
                                      .order = ORDER_KEY,
                                      .slices = 4,
                                      .batch = 500,
                                      .publish_timeout_ms = 10000};
    for (int i = 0; i < 2; i++) { /* the second knows the tables that the first has made */
        admin_close(admin);
        admin = admin_open(&options, &error);
        assert_non_null(admin);
        assert_int_equal(admin_init(admin, &executed, &missing, &error), 0);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(document);
    document = NULL;
    admin_close(admin);
    admin = NULL;
    PQfinish(conn);
    return 0;
}

FIXTURE(set_up, tear_down)

/* Relays h:1, h:2, ..., each with a session of lane 1 and one that answers; an answer without a
 * table is of this one. NULL: it does not answer. */
static void hear(const char *const *answers)
{
    json_t *sessions = json_array();
    json_t *given = json_array();
    struct error error;

    json_decref(document);
    for (int i = 0; answers[i] != NULL; i++) {
        json_t *answer = json_loads(answers[i], 0, NULL);
        char name[16];

        (void)snprintf(name, sizeof name, "h:%d", i + 1);
        (void)json_array_append_new(sessions,
                                    json_pack("{s:s, s:s, s:i, s:s, s:f}", "relay", name, "part",
                                              "1", "pid", i + 100, "state", "active", "open", 2.5));
        (void)json_array_append_new(
            sessions,
            json_pack("{s:s, s:s, s:i}", "relay", name, "part",
                      strstr(answers[i], "cut off") != NULL ? "away:s" : "watch", "pid", i + 1));
        if (answer != NULL)
            (void)json_array_append_new(given,
                                        json_pack("{s:i, s:o}", "pid", i + 1, "answer", answer));
    }
    document = json_pack("{s:[], s:i, s:b, s:[s, s], s:o, s:o, s:s}", "attention", "_unknown", 0,
                         "_asked", 1, "_sinks", "s", "t", "_sessions", sessions, "_answers", given,
                         "time", "2026-09-21T14:13:20Z");
    assert_int_equal(document_run(admin, document, document, statement_relays, "", &error), 0);
}

/* What the path leads to, such as "sinks 0 state", as JSON. */
static const char *at(const char *path)
{
    static char text[4096];
    const json_t *value = document;
    char *json;

    while (*path != '\0') {
        size_t len = strcspn(path, " ");
        char name[64];

        (void)snprintf(name, sizeof name, "%.*s", (int)len, path);
        value = json_is_array(value) ? json_array_get(value, strtoul(name, NULL, 10))
                                     : json_object_get(value, name);
        path += len + (path[len] == ' ');
    }
    json = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6) | JSON_COMPACT);
    (void)snprintf(text, sizeof text, "%s", json != NULL ? json : "nothing");
    free(json);
    return text;
}

#define HEAR(...) hear((const char *const[]){__VA_ARGS__, NULL})

TEST(an_answer_becomes_what_status_shows)
{
    HEAR(
        "{\"version\":\"1.2.3\",\"since\":1790000000123,\"sent\":5000000000,\"parked\":2,\"dead\":3,"
        "\"rate\":12.5,\"unsent_from\":9007199254740993,\"sent_at\":0,\"sinks\":[{\"name\":\"t\","
        "\"state\":\"away\",\"since\":1790000000000,\"error\":\"refused\"}],"
        "\"lanes\":[[1,\"publishing\",20,30],[8,\"idle\",20,-1]],\"troubles\":[{\"lanes\":\"lane 1\","
        "\"error\":\"e\",\"fix\":\"f\",\"since\":1790000000000,\"failures\":3,\"of_broker\":true}]}",
        "no answer");
    assert_string_equal(at("_unknown"), "0");
    assert_string_equal(at("relays"), "2");
    assert_string_equal(at("lanes"), "2");
    assert_string_equal(at("rate_per_second"), "12.5");
    assert_string_equal(at("_unsent_from"), "9007199254740993");
    assert_string_equal(at("processes 0 since"), "\"2026-09-21T14:13:20.123Z\"");
    assert_string_equal(at("processes 0 sent"), "5000000000");
    assert_string_equal(at("processes 0 last_sent"), "null");
    assert_string_equal(at("processes 1 answers"), "false");
    assert_string_equal(at("processes 1 sent"), "null");
    assert_string_equal(at("processes 1 rate_per_second"), "null");
    assert_string_equal(at("sinks 0 state"), "\"unknown\"");
    assert_string_equal(at("sinks 1 state"), "\"away\"");
    assert_string_equal(at("sinks 1 error"), "\"refused\"");
    assert_string_equal(at("sinks 1 since"), "\"2026-09-21T14:13:20.000Z\"");
    assert_string_equal(at("lane_states 0 state"), "\"publishing\"");
    assert_string_equal(at("lane_states 0 transaction_seconds"), "0.03");
    assert_string_equal(at("lane_states 1 lane"), "8");
    assert_string_equal(at("lane_states 1 transaction_seconds"), "null");
    assert_string_equal(at("lane_states 2 state"), "\"active\"");
    assert_string_equal(at("lane_states 2 transaction_seconds"), "2.5");
    assert_string_equal(at("troubles 0 relay"), "\"h:1\"");
}

static const char *finding(void)
{
    struct error error;

    assert_int_equal(document_run_all(admin, document, document, "figures", &error), 0);
    assert_int_equal(document_run_all(admin, document, document, "attention", &error), 0);
    return at("attention 0 text");
}

TEST(of_a_sink_that_relays_see_differently_the_longest_absence_counts)
{
    HEAR("{\"sinks\":[{\"name\":\"s\",\"state\":\"away\",\"since\":2000,\"error\":\"late\"}]}",
         "{\"sinks\":[{\"name\":\"s\",\"state\":\"away\",\"since\":1000,\"error\":\"early\"}]}",
         "{\"sinks\":[{\"name\":\"t\",\"state\":\"up\",\"since\":500,\"error\":\"\"},"
         "{\"name\":\"u\",\"state\":\"up\",\"since\":600}]}",
         "{\"table\":1,\"sinks\":[{\"name\":\"v\",\"state\":\"up\",\"since\":1}]}");
    assert_string_equal(at("relays"), "3"); /* the last one is of another table */
    assert_string_equal(at("sinks 0 error"), "\"early\"");
    assert_string_equal(at("sinks 0 since"), "\"1970-01-01T00:00:01.000Z\"");
    assert_string_equal(at("sinks 2 name"), "\"u\"");
    assert_string_equal(at("sinks 3"), "nothing");
    assert_string_equal(finding(),
                        "\"sink s cannot be published to: its rows wait, none is lost\"");
}

TEST(a_relay_that_is_cut_off_from_a_sink_is_told_from_those_that_are_not)
{
    HEAR("{\"sinks\":[{\"name\":\"s\",\"state\":\"away\",\"since\":1}]}",
         "{\"sinks\":[{\"name\":\"s\",\"state\":\"up\",\"since\":1}]}");
    assert_string_equal(at("sinks 0 state"), "\"away\"");
    assert_string_equal(finding(), "\"relay h:1 cannot publish to sink s, other relays can\"");
    HEAR("cut off", "{\"sinks\":[{\"name\":\"s\",\"state\":\"up\",\"since\":1}]}");
    assert_string_equal(finding(), "\"relay h:1 does not answer: it may hang\"");
    assert_string_equal(at("attention 1 text"),
                        "\"sink s is away for some relays, other relays can publish to it\"");
    HEAR("cut off", "cut off", "cut off");
    assert_string_equal(finding(), "\"relay h:1 and 2 more do not answer: they may hang\"");
    assert_string_equal(at("attention 1 text"),
                        "\"sink s cannot be published to: its rows wait, none is lost\"");
}

TEST(an_answer_that_makes_no_sense_hides_no_session)
{
    static const char *const bad[] = {
        "{\"sent\":\"many\"}",
        "{\"sinks\":[{\"name\":\"s\",\"since\":9223372036854775807,\"state\":\"up\"}]}",
        "{\"lanes\":[{},[\"x\",1]]}", "{\"sinks\":7}", "{\"table\":\"x\"}"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error error;

        HEAR(bad[i], "{\"rate\":1e300}");
        if (strcmp(at("_unknown"), "1") != 0)
            fail_msg("%s is taken", bad[i]);
        assert_int_equal(json_array_clear(json_object_get(document, "_answers")), 0);
        assert_int_equal(document_run(admin, document, document, statement_relays, "", &error), 0);
        assert_string_equal(at("relays"), "2");
    }
    HEAR("{\"rate\":1e300}");
    assert_string_equal(at("rate_per_second"), "1e12");
}

#define CONFIG(routes, server, settings)                                                           \
    "{\"version\":\"1\",\"config\":{\"routes\":\"" routes                                          \
    "\",\"outbox\":\"0b\",\"sinks\":[[\"" server "\",\"" settings                                  \
    "\"]]},\"sinks\":[{\"name\":\"bus\",\"state\":\"up\",\"since\":1}]}"

/* The only finding about relays that differ, or "nothing". */
static const char *compared(const char *own_sink)
{
    struct error error;

    if (own_sink != NULL)
        (void)json_object_set_new(document, "_own",
                                  json_pack("{s:s, s:{s:s, s:s, s:{s:[s, s]}}}", "name",
                                            "relay.toml", "config", "routes", "0a", "outbox", "0b",
                                            "sinks", own_sink, "01", "02"));
    assert_int_equal(document_run(admin, document, document, statement_relays_differ, "", &error),
                     0);
    return at("attention 0 text");
}

TEST(relays_that_differ_are_told_from_the_most)
{
    HEAR(CONFIG("0a", "01", "02"), CONFIG("0a", "01", "02"), CONFIG("0a", "01", "02"));
    assert_string_equal(compared(NULL), "nothing");
    assert_string_equal(compared("bus"), "\"relay h:1 and 2 like it: the same configuration\"");
    HEAR(CONFIG("0c", "01", "03"), CONFIG("0a", "01", "02"), CONFIG("0a", "01", "02"));
    assert_string_equal(compared(NULL),
                        "\"relay h:1 differs from relay h:2 and 1 like it in: routes; settings of"
                        " sink bus\"");
    HEAR(CONFIG("0a", "04", "02"), CONFIG("0a", "01", "02"), CONFIG("0a", "01", "02"));
    assert_string_equal(compared(NULL),
                        "\"relay h:1 differs from relay h:2 and 1 like it in: server or stream of"
                        " sink bus\"");
    HEAR(CONFIG("0a", "01", "02"));
    assert_string_equal(compared("dev"),
                        "\"relay.toml differs from relay h:1 in: sink dev, which the other has not;"
                        " sink bus, which it has not\"");
    HEAR("{\"version\":\"0.1\",\"sinks\":[]}", "{\"config\":{\"routes\":\"0a\",\"outbox\":\"0b\","
                                               "\"sinks\":[[\"1\",\"2\"]]},\"sinks\":[]}");
    assert_string_equal(compared(NULL), "nothing");
    HEAR("{\"version\":\"0.1\",\"sinks\":[]}", CONFIG("0a", "01", "02"));
    assert_string_equal(compared(NULL), "\"relay h:1 does not say how it is configured: its version"
                                        " is 0.1\"");
}

/* docs/monitoring.md promises that the fields of its table stay: the document has each. */
static void assert_every_promised_field(void)
{
    static char page[65536];
    FILE *file = fopen("docs/monitoring.md", "r");
    const char *row;
    int names = 0;

    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    (void)fclose(file);
    row = strstr(page, "\n| field | what it is |\n| --- | --- |\n");
    assert_non_null(row);
    for (row = strstr(row, "--- |\n") + 6; *row == '|'; row += strcspn(row, "\n") + 1) {
        const char *end = row + 2 + strcspn(row + 2, "|");

        for (const char *at = memchr(row, '`', (size_t)(end - row)); at != NULL;
             at = memchr(at, '`', (size_t)(end - at)), names++) {
            char name[64];
            int len = (int)strcspn(++at, "`");

            (void)snprintf(name, sizeof name, "%.*s", len, at);
            if (json_object_get(document, name) == NULL)
                fail_msg("no %s", name);
            at += len + 1;
        }
    }
    assert_true(names >= 29);
}

TEST(no_field_is_missing_when_there_is_nothing_or_a_figure_fails)
{
    static const char *const sinks[] = {"out"};
    static const struct routes routes;
    const struct status_query query = {
        .routes = &routes, .sinks = sinks, .sink_count = 1, .wait_ms = 1, .count_max = 10};
    static const char *const changes[] = {
        "SELECT 1", "REVOKE ALL ON outbox_parked FROM PUBLIC, " HARNESS_RELAY};

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct error error;
        char *text;

        sql(conn, "%s", changes[i]);
        json_decref(document);
        document = admin_status(admin, &query, &error);
        if (document == NULL)
            fail_msg("%s", error.text);
        text = status_dump(document);
        json_decref(document);
        document = json_loads(text, 0, NULL);
        free(text);
        assert_every_promised_field();
        assert_string_equal(at("dead"), i == 0 ? "0" : "null");
        assert_string_equal(at("dead_is_lower_bound"), "false");
        assert_string_equal(at("sinks 0 rows"), i == 0 ? "0" : "null");
    }
}

/* What the lines "-- without:" of a section say. */
static json_t *fields_without(const char *section)
{
    static const char words[] = "-- without: ";
    json_t *fields = json_object();

    while ((section = strstr(section, words)) != NULL) {
        json_t *line;

        section += strlen(words);
        line = json_loadb(section, strcspn(section, "\n"), 0, NULL);
        assert_int_equal(json_object_update(fields, line), 0);
        json_decref(line);
    }
    return fields;
}

/* A name with a mistake in it would be a field that is there only when its section fails, or only
 * when it does not. Those for the program alone ("_...") may be absent. */
TEST(a_section_has_with_and_without_its_result_the_same_fields)
{
    json_t *known = json_pack("{s:n}", "time"); /* status.c has it without */
    int sections = 0;
    struct error error;
    const char *name;
    json_t *value;

    for (const struct sql_use *use = sql_uses; use->name != NULL; use++) {
        json_t *without = fields_without(use->text);

        assert_int_equal(json_object_update(known, without), 0);
        json_decref(without);
    }
    for (const struct sql_use *use = sql_uses; use->name != NULL; use++) {
        bool is_section = strcmp(use->user, "figures") == 0 || strcmp(use->user, "storage") == 0;
        json_t *without, *fields;
        PGresult *result;

        if (!is_section)
            continue;
        document = json_pack("{s:[], s:[], s:i}", "_sinks", "attention", "_count_max", 10);
        result = document_ask(admin, document, use->text, use->facts, &error);
        if (result == NULL)
            fail_msg("%s: %s", use->name, error.text);
        fields = json_loads(PQgetvalue(result, 0, 0), 0, NULL);
        without = fields_without(use->text);
        json_object_foreach (fields, name, value)
            if (name[0] != '_' && json_object_get(known, name) == NULL)
                fail_msg("%s: %s is missing without it", use->name, name);
        json_object_foreach (without, name, value)
            if (json_object_get(fields, name) == NULL)
                fail_msg("%s: it has no %s", use->name, name);
        PQclear(result);
        json_decref(without);
        json_decref(fields);
        json_decref(document);
        document = NULL;
        sections++;
    }
    json_decref(known);
    assert_true(sections > 8);
}

static const char whole[] =
    "{\"time\":\"2026-09-21T14:13:20Z\",\"table\":\"public.outbox\",\"keys_locked_by\":\"trigger\","
    "\"backlog\":2000,\"backlog_is_lower_bound\":true,\"backlog_estimate\":61200,"
    "\"backlog_oldest_seconds\":62.5,"
    "\"parked\":30,\"parked_is_lower_bound\":false,\"parked_oldest_seconds\":45,"
    "\"next_try_seconds\":12,\"scheduled\":0,\"refused\":0,"
    "\"dead_first\":[{\"id\":\"17\",\"topic\":\"a.b\",\"reason\":\"too large\"}],"
    "\"dead\":100000,\"dead_is_lower_bound\":true,\"dead_oldest_seconds\":7265,"
    "\"rate_per_second\":40.4,\"parked_reasons\":[{\"count\":30,\"reason\":\"unknown topic\"}],"
    "\"attention\":[{\"text\":\"it is so\",\"fix\":\"outbox-relay dead list\"},"
    "{\"text\":\"what is paused\",\"fix\":null}],\"relays\":9,\"lanes\":4,"
    "\"sinks\":[{\"name\":\"events\",\"state\":\"away\",\"since\":\"2026-09-21T14:12:50Z\",\"error\":"
    "\"[sink.events] kafka at h:1: refused\",\"order\":\"in atomic batches\",\"rows\":2000},"
    "{\"name\":\"bus\",\"state\":\"up\",\"since\":\"2026-09-20T14:13:20Z\",\"error\":null,\"order\":"
    "\"one by one\",\"rows\":0},"
    "{\"name\":\"none\",\"state\":\"unknown\",\"since\":null,\"error\":null,\"order\":null,\"rows\":0}],"
    "\"processes\":[{\"name\":\"a:10\",\"lanes\":2,\"answers\":true,\"version\":\"1.2.3\",\"since\":"
    "\"2026-09-21T13:11:17Z\",\"sent\":1234567,\"rate_per_second\":40.4},"
    "{\"name\":\"b:10\",\"lanes\":2,\"answers\":false}],"
    "\"lane_states\":[{\"relay\":\"a:10\",\"lane\":1,\"state\":\"publishing\",\"state_seconds\":0.2,"
    "\"transaction_seconds\":0.5},{\"relay\":\"a:10\",\"lane\":2,\"state\":\"idle\","
    "\"state_seconds\":90000,\"transaction_seconds\":null},"
    "{\"relay\":\"b:10\",\"lane\":1,\"state\":null}],\"_lanes\":true,\"_terminal\":true}";

/* Counts, ages and times as people read them; each line with its layout. */
TEST(a_document_becomes_the_lines_of_status)
{
    static const char *const lines[] = {
        "cut public.outbox at 14:13:20Z",
        "cut backlog  about 61,200, oldest 1 min 02 s",
        "cut parked   30, oldest 45 s, next try in 12 s",
        "cut dead     100,000 or more, oldest 2 h 01 min",
        "cut order    the trigger locks each key",
        "cut rate     40/s",
        "cut ",
        "cut attention",
        "wrapped - it is so",
        "whole   fix: outbox-relay dead list",
        "wrapped - what is paused",
        "cut ",
        "cut why rows are parked or dead:",
        "cut   30: unknown topic",
        "cut dead for longest:",
        "cut   17, a.b: too large",
        "wrapped events: away since 14:12:50Z, refused, 2,000 or more rows wait",
        "cut bus: up since 2026-09-20T14:13:20Z; the events of a key leave one by one",
        "cut relays   9 with 4 lanes",
        "cut   a:10  2 lanes, up 1 h 02 min, 1,234,567 sent, 40/s, version 1.2.3",
        "cut     lane 1  publishing for 0.2 s, claim open for 0.5 s",
        "cut     lane 2  idle for 1 d 1 h",
        "cut   b:10  2 lanes, does not answer",
        "cut     lane 1  unknown",
    };
    struct error error;
    PGresult *result;
    int count = (int)(sizeof lines / sizeof *lines);

    document = json_loads(whole, 0, NULL);
    assert_non_null(document);
    result = document_ask(admin, document, statement_status_text, "", &error);
    if (result == NULL)
        fail_msg("%s", error.text);
    for (int i = 0; i < PQntuples(result) && i < count; i++) {
        char line[256];

        (void)snprintf(line, sizeof line, "%s %s", PQgetvalue(result, i, 0),
                       PQgetvalue(result, i, 1));
        assert_string_equal(line, lines[i]);
    }
    assert_int_equal(PQntuples(result), count);
    PQclear(result);
    (void)json_object_set_new(document, "_lanes", json_false());
    result = document_ask(admin, document, statement_status_text, "", &error);
    assert_non_null(result);
    assert_string_equal(PQgetvalue(result, PQntuples(result) - 1, 1), "  4 more: status --lanes");
    PQclear(result);
}
