/*
 * While a sink is away PostgreSQL judges which rows are its own. Its verdict about a topic is that
 * of match_topic(), or none: in each encoding of a database, whatever the collation of the column.
 */
#include "integration/harness.h"

#include "catalog/table.h"
#include "outbox/slices/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATTERNS 400
#define TOPICS 24

static const char *const pieces[] = {"o",      "r",        "d",    "x",          ".",
                                     "\u00e9", "[\u00e9]", "[^d]", ".*",         ".",
                                     "^",      "$",        "|",    "(o|\u00e9)", "[[:alpha:]]",
                                     "x?",     "r{2}",     "\n",   "[^.]+",      "\\.",
                                     "[a-z]",  "\u3042",   ""};
static const char *const words[] = {"o",  "r",      "d", "x", ".", "\u00e9",
                                    "\n", "\u3042", "D", "'", "\\"};

static void add_random(char *out, size_t size, const char *const *from, size_t count, int parts)
{
    size_t len = strlen(out);

    for (int i = 0; i < parts; i++) {
        const char *piece = from[(size_t)rand() % count];

        if (len + strlen(piece) < size)
            len += (size_t)snprintf(out + len, size - len, "%s", piece);
    }
}

static char topics[TOPICS][2100];

static void make_topics(PGconn *conn, const char *encoding)
{
    bool has_kana = strcmp(encoding, "LATIN1") != 0;
    bool has_accents = strcmp(encoding, "EUC_JP") != 0;

    sql(conn, "DELETE FROM topics");
    for (int i = 0; i < TOPICS; i++) {
        const char *params[1] = {topics[i]};

        do {
            topics[i][0] = '\0';
            add_random(topics[i], 64, words, sizeof words / sizeof *words, 1 + rand() % 6);
        } while ((!has_kana && strstr(topics[i], "\u3042") != NULL) ||
                 (!has_accents && strstr(topics[i], "\u00e9") != NULL));
        if (i < 4) { /* lengths around the limit */
            memset(topics[i], 'x', (size_t)(1022 + i));
            topics[i][1022 + i] = '\0';
            (void)strcat(topics[i], i % 2 == 0 ? "d" : "");
        }
        PQclear(PQexecParams(conn,
                             "INSERT INTO topics SELECT $1::text WHERE NOT EXISTS (SELECT FROM"
                             " topics WHERE topic::text COLLATE \"C\" = $1::text)",
                             1, NULL, params, NULL, NULL, 0));
    }
}

#define SINK_IS_HERE "($1::int8 = 0 OR coalesce($1::int8 >> ({sink}), 0) & 1 = 0)"

/* What the test tries is what the claims have. */
static void assert_is_claimed_by(const char *statement)
{
    assert_non_null(strstr(statement, SINK_IS_HERE));
}

/* The topics that PostgreSQL judges as those of the sink that is away. */
static PGresult *ask(PGconn *conn, const struct routes *routes)
{
    struct table table = {.exists = true};
    const struct slice_facts about = {.tables = {.table = &table}, .routes = routes};
    const char *params[1] = {"1"};
    PGresult *result;
    char *text;

    (void)snprintf(table.columns[COLUMN_TOPIC].quoted, QUOTED_BYTES_MAX, "\"topic\"");
    assert_is_claimed_by(statement_slice_rows);
    assert_is_claimed_by(statement_claim_table);
    assert_is_claimed_by(statement_claim_refused);
    assert_is_claimed_by(statement_earlier);
    text = slice_statement("SELECT topic::text, NOT " SINK_IS_HERE " FROM topics", &about);
    assert_non_null(text);
    result = PQexecParams(conn, text, 1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s in %s", PQerrorMessage(conn), text);
    free(text);
    return result;
}

static int compare(PGconn *conn, const char *pattern, bool is_whole)
{
    struct route route = {.sink = 0};
    struct routes routes = {&route, 1};
    char why[160];
    PGresult *result;
    int matched = 0;

    if (match_parse(&route.match, pattern, why, sizeof why) < 0)
        return 0;
    result = ask(conn, &routes);
    for (int i = 0; i < PQntuples(result); i++) {
        const char *topic = PQgetvalue(result, i, 0);
        bool in_sql = PQgetvalue(result, i, 1)[0] == 't';
        bool in_c = match_topic(&route.match, text_of(topic));

        if (in_sql && !in_c)
            fail_msg("only PostgreSQL matches \"%s\" with \"%s\"", topic, pattern);
        if (is_whole && in_c && !in_sql && strlen(topic) <= MATCH_BYTES_MAX &&
            strchr(topic, '\n') == NULL)
            fail_msg("only match_topic() matches \"%s\" with \"%s\"", topic, pattern);
        matched += in_c;
    }
    PQclear(result);
    match_free(&route.match);
    return matched;
}

static void agree(PGconn *conn, const char *encoding)
{
    bool is_whole = strcmp(encoding, "UTF8") == 0 || strcmp(encoding, "SQL_ASCII") == 0;
    int matched = 0;

    make_topics(conn, encoding);
    matched += compare(conn, "re:^ord.r$|^x*$", is_whole);
    for (int i = 0; i < PATTERNS; i++) {
        char pattern[160] = "re:";

        if (i % 4 == 0)
            pattern[0] = '\0';
        add_random(pattern, sizeof pattern, pieces, sizeof pieces / sizeof *pieces, 1 + rand() % 5);
        if (!is_whole && (strstr(pattern, "\u3042") != NULL || strstr(pattern, "\u00e9") != NULL))
            continue; /* PostgreSQL could not be given it */
        matched += compare(conn, pattern, is_whole);
    }
    assert_true(matched > 0);
}

TEST(in_every_encoding_postgresql_judges_as_the_relay)
{
    static const char *const encodings[] = {"UTF8", "LATIN1", "EUC_JP", "SQL_ASCII"};
    char url[256];
    PGconn *admin = harness_database(url);
    unsigned seed = (unsigned)time(NULL);

    print_message("seed %u\n", seed);
    srand(seed);
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        char other[300];
        PGconn *conn;

        sql(admin, "SET client_min_messages = warning");
        sql(admin, "DROP DATABASE IF EXISTS %s_agree WITH (FORCE)", PQdb(admin));
        sql(admin,
            "CREATE DATABASE %s_agree ENCODING '%s' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
            PQdb(admin), encodings[i]);
        (void)snprintf(other, sizeof other, "%s_agree", url);
        conn = harness_connect(other);
        assert_int_equal(PQsetClientEncoding(conn, "UTF8"), 0);
        sql(conn, "CREATE TABLE topics (topic text)");
        agree(conn, encodings[i]);
        PQfinish(conn);
    }
    sql(admin, "DROP DATABASE %s_agree WITH (FORCE)", PQdb(admin));
    PQfinish(admin);
}

/* PostgreSQL refuses a regular expression on such a column. */
TEST(a_nondeterministic_collation_changes_nothing)
{
    char url[256];
    PGconn *conn = harness_database(url);

    sql(conn,
        "CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic ="
        " false); CREATE TABLE topics (topic varchar COLLATE no_case)");
    agree(conn, "UTF8");
    PQfinish(conn);
}
