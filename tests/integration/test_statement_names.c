/* No name that a table or one of its columns has is taken for a name of the relay's own statements.
 * Each word of the statements that `outbox-relay sql` prints is given to a column and to the table;
 * PostgreSQL must then read every statement as before, or the relay must refuse the table. */
#include "integration/program.h"
#include "sql/sql.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

FIXTURE(fixture_open_empty, fixture_close)

enum {
    STATEMENTS_MAX = 256,
    WORDS_MAX = 2048,
    WORD_BYTES = 64,
    COLUMNS = 400,
    TEXT_BYTES = 262144
};

struct statement {
    const char *name, *text;
    uint64_t meaning;
};

struct statements {
    struct statement list[STATEMENTS_MAX];
    int count;
    char words[WORDS_MAX][WORD_BYTES];
    int word_count;
    char own[WORDS_MAX][WORD_BYTES]; /* those that are refused as names */
    int own_count;
    int mistakes;
};

/* ---- what PostgreSQL understands: which column of which table each name stands for */

static void read_tree(void *about, const PGresult *notice)
{
    const char *at = PQresultErrorField(notice, PG_DIAG_MESSAGE_DETAIL);
    uint64_t *meaning = about;

    while (at != NULL && (at = strstr(at, ":var")) != NULL)
        for (; *at != '\0' && *at != '}' && strncmp(at, ":location", 9) != 0; at++)
            if (!isspace((unsigned char)*at)) /* lines break anywhere */
                *meaning = (*meaning ^ (unsigned char)*at) * 1099511628211U;
}

/* 0: PostgreSQL refuses the statement, and PQerrorMessage() says why. */
static uint64_t meaning_of(PGconn *conn, const char *statement)
{
    static uint64_t meaning; /* notices of other statements reach it, too */
    PGresult *result;
    bool is_accepted;

    meaning = 14695981039346656037U;
    (void)PQsetNoticeReceiver(conn, read_tree, &meaning);
    result = PQprepare(conn, "", statement, 0, NULL);
    is_accepted = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return is_accepted ? meaning : 0;
}

/* ---- the statements and their words */

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (; (text = strstr(text, word)) != NULL; text += len)
        if (!is_word_byte(text[-1]) && !is_word_byte(text[len]))
            return true;
    return false;
}

static void add(char (*words)[WORD_BYTES], int *count, const char *word)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(words[i], word) == 0)
            return;
    assert_true(*count < WORDS_MAX);
    (void)snprintf(words[(*count)++], WORD_BYTES, "%s", word);
}

static void add_word(struct statements *all, const char *start, size_t len)
{
    static const char *const of_system[] = {"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"};
    char word[WORD_BYTES];

    if (len >= sizeof word || strncmp(start, "zz_", 3) == 0 || strncmp(start, "outbox", 6) == 0)
        return;
    (void)snprintf(word, sizeof word, "%.*s", (int)len, start);
    for (size_t i = 0; i < sizeof of_system / sizeof *of_system; i++)
        if (strcmp(word, of_system[i]) == 0) /* no column can have this name */
            return;
    if (strncmp(word, "relay_", 6) == 0)
        add(all->own, &all->own_count, word);
    else
        add(all->words, &all->word_count, word);
}

/* All but the names of functions, and what stands within quotes or comments. */
static void add_words(struct statements *all, const char *at)
{
    while (*at != '\0') {
        size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");

        if (len > 0 && at[len] != '(' && !isdigit((unsigned char)*at))
            add_word(all, at, len);
        else if (*at == '\'' || *at == '"')
            len = strcspn(at + 1, *at == '"' ? "\"" : "'") + 2;
        else if (strncmp(at, "--", 2) == 0)
            len = strcspn(at, "\n");
        at += len > 0 ? len : 1;
    }
}

/* PostgreSQL takes a reserved word for the name of a table or column only in quotes, and what is
 * quoted is no word here. */
static void leave_out_reserved(struct statements *all, PGconn *conn)
{
    char *reserved = strdup(sql_text(conn, "SELECT ' ' || string_agg(word, ' ') || ' '"
                                           " FROM pg_get_keywords() WHERE catcode IN ('R', 'T')"));
    int kept = 0;

    assert_non_null(reserved);
    for (int i = 0; i < all->word_count; i++)
        if (!has_word(reserved, all->words[i]))
            memmove(all->words[kept++], all->words[i], WORD_BYTES);
    all->word_count = kept;
    free(reserved);
}

static void read_statements(struct statements *all, char *printed, PGconn *conn)
{
    all->count = 0;
    while (strncmp(printed, "-- ", 3) == 0) {
        struct statement *next = &all->list[all->count++];
        char *text = strchr(printed, '\n');
        char *end;

        assert_true(all->count < STATEMENTS_MAX);
        assert_non_null(text);
        *text++ = '\0';
        while (strncmp(text, "-- ", 3) == 0)
            text = strchr(text, '\n') + 1;
        end = strstr(text, ";\n\n");
        assert_non_null(end);
        *end = '\0';
        *next = (struct statement){.name = printed + 3, .text = text};
        next->meaning = meaning_of(conn, text);
        if (next->meaning == 0)
            fail_msg("%s: %s", next->name, PQerrorMessage(conn));
        printed = end + 3;
    }
    assert_true(all->count > 100);
}

/* ---- other names */

static void replace(char *text, const char *was, const char *is)
{
    static char copy[TEXT_BYTES];
    size_t len = 0;
    const char *rest = copy;
    const char *at;

    (void)snprintf(copy, sizeof copy, "%s", text);
    for (; (at = strstr(rest, was)) != NULL; rest = at + strlen(was))
        len += (size_t)snprintf(text + len, TEXT_BYTES - len, "%.*s%s", (int)(at - rest), rest, is);
    assert_true(len + strlen(rest) < TEXT_BYTES);
    (void)snprintf(text + len, TEXT_BYTES - len, "%s", rest);
}

static void assert_same_meaning(struct statements *all, PGconn *conn, const char *statement,
                                uint64_t expected, const char *text, const char *names)
{
    uint64_t meaning = meaning_of(conn, text);

    if (meaning == expected)
        return;
    all->mistakes++;
    print_error("%s means something else%s: %s\n", statement, names,
                meaning == 0 ? PQerrorMessage(conn) : "another column");
}

#define RAW                                                                                        \
    "CASE WHEN \"zz_other\" IS DISTINCT FROM NULL THEN format('%s', \"zz_other\") END AS"          \
    " \"zz_other\""

/* In one statement: each would have PostgreSQL read all columns again. */
static void alter_columns(PGconn *conn, const char *format, char (*words)[WORD_BYTES], int count)
{
    static char text[TEXT_BYTES / 8];
    size_t len = (size_t)snprintf(text, sizeof text, "ALTER TABLE public.zz_table");

    for (int i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, format, i > 0 ? "," : "", words[i]);
    sql(conn, "%s", text);
}

/* Wherever the statement reads the column "zz_other", it now reads these. */
static void put_columns(char *text, char (*words)[WORD_BYTES], int count)
{
    static char list[TEXT_BYTES / 8];
    static char condition[TEXT_BYTES / 8];
    size_t listed = 0;
    size_t len = 0;

    for (int i = 0; i < count; i++) {
        listed += (size_t)snprintf(list + listed, sizeof list - listed, "%s\"%s\"",
                                   i > 0 ? ", " : "", words[i]);
        len += (size_t)snprintf(condition + len, sizeof condition - len, "%s\"%s\" IS NULL",
                                i > 0 ? " OR " : "(", words[i]);
    }
    (void)snprintf(condition + len, sizeof condition - len, ")");
    replace(text, "\"zz_other\" IS NULL", condition);
    replace(text, RAW, list);
    replace(text, "\"zz_other\"", list);
}

static int words_of(char (*used)[WORD_BYTES], const char *text, char (*words)[WORD_BYTES],
                    int count)
{
    int used_count = 0;

    for (int i = 0; i < count; i++)
        if (has_word(text, words[i]))
            memcpy(used[used_count++], words[i], WORD_BYTES);
    return used_count;
}

/* The table has a column of each of these names, with a type that fits nothing: PostgreSQL refuses
 * a statement that takes one of them for its own, or one of its own for them. */
static void try_columns(struct statements *all, PGconn *conn, char (*words)[WORD_BYTES], int count)
{
    static char text[TEXT_BYTES];
    static char used[COLUMNS][WORD_BYTES];

    sql(conn, "SET debug_print_parse = off");
    alter_columns(conn, "%s ADD COLUMN \"%s\" point", words, count);
    for (int i = 0; i < all->count; i++) {
        int used_count = words_of(used, all->list[i].text, words, count);

        if (strstr(all->list[i].text, "\"zz_table\"") == NULL || used_count == 0)
            continue;
        (void)snprintf(text, sizeof text, "%s", all->list[i].text);
        put_columns(text, used, used_count);
        if (meaning_of(conn, text) != 0)
            continue;
        all->mistakes++;
        print_error("%s: %s\n", all->list[i].name, PQerrorMessage(conn));
    }
    alter_columns(conn, "%s DROP COLUMN \"%s\"", words, count);
    sql(conn, "SET debug_print_parse = on");
}

static void try_table(struct statements *all, PGconn *conn, const char *name, const char *id)
{
    static char text[TEXT_BYTES];
    char table[WORD_BYTES + 2];
    char column[WORD_BYTES + 2];
    char names[sizeof table + sizeof column + 48];

    if (sql_number(conn,
                   "SELECT count(*) FROM pg_attribute WHERE attname = '%s' AND attrelid ="
                   " 'public.zz_table_parked'::regclass",
                   name) > 0)
        return; /* such a table is refused where values are computed */
    (void)snprintf(table, sizeof table, "\"%s\"", name);
    (void)snprintf(column, sizeof column, "\"%s\"", id);
    (void)snprintf(names, sizeof names, " for a table %s with the id %s", table, column);
    sql(conn,
        "ALTER TABLE public.zz_table RENAME COLUMN zz_id TO %s;"
        " ALTER TABLE public.zz_table RENAME TO %s",
        column, table);
    for (int i = 0; i < all->count; i++) {
        const char *original = all->list[i].text;
        bool names_table = strstr(original, "\"zz_table\"") != NULL;
        bool names_id = strstr(original, "\"zz_id\"") != NULL;

        if (!(names_table && has_word(original, name)) && !(names_id && has_word(original, id)))
            continue;
        (void)snprintf(text, sizeof text, "%s", all->list[i].text);
        replace(text, "\"zz_table\"", table);
        replace(text, "\"zz_id\"", column);
        assert_same_meaning(all, conn, all->list[i].name, all->list[i].meaning, text, names);
    }
    sql(conn,
        "ALTER TABLE public.%s RENAME TO zz_table;"
        " ALTER TABLE public.zz_table RENAME COLUMN %s TO zz_id",
        table, column);
}

/* ---- tables and configurations */

#define MAPPED                                                                                     \
    "[outbox.columns]\nid = \"zz_id\"\nkey = \"zz_key\"\nheaders = \"zz_headers\"\n"               \
    "created_at = \"zz_created\"\nsent_at = \"zz_sent\"\n"
#define PLAIN MAPPED "event_id = \"zz_event\"\ntopic = \"zz_topic\"\npayload = \"zz_payload\"\n"
#define USES "(CASE WHEN \"zz_other\" IS NULL THEN 'a' ELSE 'b' END)"
#define COMPUTED                                                                                   \
    MAPPED "event_id = '''" USES "'''\ntopic = '''" USES "'''\ntype = '''" USES "'''\n"            \
           "payload = '''(to_jsonb(\"zz_table\") - 'id')'''\n[outbox.headers]\nx-a = '''" USES     \
           "'''\n"

static const char *const kinds[] = {
    "order = \"key\"\non_sent = \"mark\"\n" PLAIN, "order = \"none\"\non_sent = \"delete\"\n" PLAIN,
    "order = \"key\"\non_sent = \"delete\"\n" COMPUTED,
    "order = \"none\"\non_sent = \"mark\"\ndue = \"zz_created\"\n" COMPUTED,
    "order = \"key\"\non_sent = \"mark\"\ndue = \"zz_created\"\n"
    "mark = '''zz_ready = false, zz_sent = now(), zz_other = " USES "'''\n"
    "park = '''zz_ready = ($state <> $error), zz_other = " USES "'''\n" COMPUTED};

static PGconn *open_kind(struct fixture *fixture, struct statements *all, const char *kind)
{
    PGconn *conn;

    sql(fixture->conn,
        "SET client_min_messages = warning; DROP TABLE IF EXISTS zz_table, zz_table_parked,"
        " zz_table_slice, zz_table_control CASCADE");
    sql(fixture->conn,
        "CREATE TABLE zz_table (zz_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, zz_event"
        " uuid NOT NULL, zz_topic text NOT NULL, zz_key text, zz_payload jsonb, zz_headers jsonb,"
        " zz_created timestamptz NOT NULL, zz_sent timestamptz, zz_ready boolean, zz_other text)");
    write_relay_toml(fixture,
                     "[outbox]\ntable = \"zz_table\"\nadopt = true\nslices = 8\n"
                     "where = '''zz_ready AND \"zz_other\" IS NULL'''\n%s"
                     "[sink.out]\ntype = \"stdout\"\n[sink.far]\ntype = \"stdout\"\n"
                     "[[route]]\nmatch = \"far.*\"\nsink = \"far\"\n"
                     "[[route]]\nmatch = \">\"\nsink = \"out\"\n",
                     kind);
    init_existing(fixture);
    expect(fixture, run_command(fixture, "sql"), 0);
    conn = harness_connect(fixture->url);
    sql(conn, "SET search_path = ''; SET debug_print_parse = on; SET debug_pretty_print = off;"
              " SET log_min_messages = panic; SET synchronous_commit = off");
    sql(conn, "SET client_min_messages = log");
    read_statements(all, fixture->process.out, conn);
    return conn;
}

/* The first of these words is refused as the name of a column, and as that of the table. */
static void assert_check_refuses(struct fixture *fixture, const char *table, const char *word)
{
    char says[WORD_BYTES + 64];

    write_relay_toml(fixture, "[outbox]\ntable = \"%s\"\n[outbox.columns]\nid = \"zz_id\"\n%s",
                     table, STDOUT_SINK);
    expect(fixture, run_command(fixture, "check"), 3);
    (void)snprintf(says, sizeof says, "statements use the name \"%s\"", word);
    assert_says(fixture->process.out, says);
}

static void assert_refused(struct fixture *fixture, const char *word)
{
    sql(fixture->conn, "ALTER TABLE zz_table RENAME COLUMN zz_other TO %s", word);
    assert_check_refuses(fixture, "zz_table", word);
    assert_says(fixture->process.out, "ALTER TABLE \"public\".\"zz_table\" RENAME COLUMN");
    sql(fixture->conn,
        "ALTER TABLE zz_table RENAME COLUMN %s TO zz_other; CREATE TABLE %s (LIKE zz_table)", word,
        word);
    assert_check_refuses(fixture, word, word);
}

/* Only the last kind, which has the most words, is tried with other names for the table, which
 * takes longer. */
FIXTURE_TEST(no_name_of_a_column_or_table_is_taken_for_one_of_the_statements)
{
    struct statements *all = calloc(1, sizeof *all);

    assert_non_null(all);
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        PGconn *conn = open_kind(fixture, all, kinds[kind]);

        for (int i = 0; i < all->count; i++)
            if (strstr(all->list[i].text, "SAVEPOINT") == NULL)
                add_words(all, all->list[i].text);
        leave_out_reserved(all, fixture->conn);
        for (int word = 0; word < all->word_count; word += COLUMNS)
            try_columns(all, conn, &all->words[word],
                        all->word_count - word < COLUMNS ? all->word_count - word : COLUMNS);
        for (int word = 0; kind == 4 && word < all->word_count; word++)
            try_table(all, conn, all->words[word], all->words[(word + 1) % all->word_count]);
        PQfinish(conn);
    }
    print_message("%d words, %d of them refused\n", all->word_count, all->own_count);
    assert_int_equal(all->mistakes, 0);
    assert_true(all->own_count > 20);
    PQfinish(open_kind(fixture, all, kinds[0]));
    for (int i = 0; i < all->own_count; i++)
        assert_true(sql_is_own_name(all->own[i]));
    for (int i = 0; i < 3; i++)
        assert_refused(fixture, all->own[i]);
    free(all);
}
