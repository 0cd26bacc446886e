#include "mysql/parked.h"

#include "base/clock.h"
#include "base/text.h"
#include "mysql/document.h"
#include "mysql/settle.h"
#include "mysql/statements.h"
#include "route/match.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_ROWS 1000
#define CUT "1024"
#define CUT_SHOWN "4097"
#define WAIT_FOR_BATCH_MS 20000 /* no statement may take so long */

/* The values of parked_rows.sql, which are owned. */
struct page {
    char *words, *type, *topic, *topic_regex, *since;
    char place[24];
    char limit[24];
    bool newest_first, changes, drops, one, whole;
};

/* A literal; free() it. NULL: no memory, or no text. */
static char *literal(const char *text)
{
    return text != NULL ? tables_literals(&text, 1) : NULL;
}

static char *pack_words(const struct parked_request *request)
{
    json_t *list = json_array();
    char *packed, *quoted;

    for (int i = 0; i < request->word_count; i++)
        (void)json_array_append_new(list, json_string(request->words[i]));
    packed = json_dumps(list, JSON_COMPACT);
    quoted = literal(packed);
    free(packed);
    json_decref(list);
    return quoted;
}

/* parked_at is in UTC. */
static char *since_sql(const char *since)
{
    int64_t ms = since != NULL ? text_parse_duration_ms(since) : -1;
    char *sql = NULL;

    if (ms < 0)
        return literal(since);
    return asprintf(&sql, "UTC_TIMESTAMP(6) - INTERVAL %" PRId64 " MICROSECOND", ms * 1000) < 0
               ? NULL
               : sql;
}

static void end(struct page *page)
{
    free(page->words);
    free(page->type);
    free(page->topic);
    free(page->topic_regex);
    free(page->since);
}

static int begin(struct page *page, const struct parked_request *request, struct error *error)
{
    char *regex = NULL;

    *page = (struct page){.whole = request->whole};
    if (request->topic != NULL && match_topics_regex(request->topic, &regex) < 0)
        return error_no_memory(error);
    page->words = request->word_count > 0 ? pack_words(request) : NULL;
    page->type = literal(request->type);
    page->since = since_sql(request->since);
    if (regex != NULL)
        page->topic_regex = literal(regex);
    else if (request->topic != NULL)
        page->topic = literal(request->topic);
    free(regex);
    if ((request->word_count == 0 || page->words != NULL) &&
        (request->type == NULL || page->type != NULL) &&
        (request->since == NULL || page->since != NULL) &&
        (request->topic == NULL || page->topic != NULL || page->topic_regex != NULL))
        return 0;
    end(page); /* a filter that were left out would choose all rows */
    return error_no_memory(error);
}

/* NULL with *error set. */
static json_t *read_page(struct admin *admin, const struct page *page, struct error *error)
{
    const struct sql_fact facts[] = {
        {page->words != NULL ? "words" : "", .text = page->words},
        {page->type != NULL ? "chosen_type" : "", .text = page->type},
        {page->topic != NULL ? "chosen_topic" : "", .text = page->topic},
        {page->topic_regex != NULL ? "chosen_topic_regex" : "", .text = page->topic_regex},
        {page->topic != NULL || page->topic_regex != NULL ? "by_topic" : "", .text = NULL},
        {page->since != NULL ? "chosen_since" : "", .text = page->since},
        {"place", .text = page->place},
        {"limit", .text = page->limit},
        {"cut", .text = page->one ? CUT_SHOWN : CUT},
        {page->newest_first ? "newest_first" : "", .text = NULL},
        {page->changes ? "changes" : "", .text = NULL},
        {page->drops ? "drops" : "", .text = NULL},
        {page->one ? "one" : "", .text = NULL},
        {page->whole ? "whole" : "", .text = NULL},
        {.name = NULL}};

    return document_rows(admin, db_sql_parked_rows, facts, error);
}

static void tell(const struct parked_reader *reader, const json_t *rows)
{
    size_t at;
    json_t *row;

    json_array_foreach(rows, at, row)
    {
        reader->on_row(reader->closure, row);
    }
}

static int64_t seq_of(const json_t *row)
{
    return json_integer_value(json_object_get(row, "_seq"));
}

/* ---- rows by their names ---- */

/* How many rows the word names; *first: the first of them. */
static int count_named(const json_t *rows, const char *word, const json_t **first)
{
    int count = 0;
    size_t at;
    json_t *row;

    json_array_foreach(rows, at, row)
    {
        if (strcmp(document_text(row, "_word"), word) != 0)
            continue;
        if (count++ == 0)
            *first = row;
    }
    return count;
}

/* Each word must name one row. */
static int check_words(const struct admin *admin, const struct page *page,
                       const struct parked_request *request, const json_t *rows,
                       struct error *error)
{
    bool changes = page->changes;
    char shown[80];

    for (int i = 0; i < request->word_count; i++) {
        const char *word = request->words[i];
        const json_t *first = NULL;
        int count = count_named(rows, word, &first);

        (void)text_escape(shown, sizeof shown, word, strlen(word) < 64 ? strlen(word) : 64);
        if (count == 0) {
            (void)error_set(error, ERROR_PERMANENT, ERROR_SELF,
                            "no parked or dead row has id \"%s\"%s", shown,
                            changes ? ": nothing was done" : "");
            return page->drops
                       ? error_hint(error, "a row that %s refuses stays until it can be settled",
                                    admin->session.is_mariadb ? "MariaDB" : "MySQL")
                       : -1;
        }
        if (count > 1)
            return error_set(error, ERROR_PERMANENT, ERROR_SELF,
                             "id \"%s\" names %d rows: give \"@%" PRId64
                             "\" for the first of them%s",
                             shown, count, seq_of(first), changes ? "; nothing was done" : "");
    }
    return 0;
}

/* NULL with *error set. */
static json_t *read_words(struct admin *admin, struct page *page,
                          const struct parked_request *request, struct error *error)
{
    json_t *rows;

    (void)snprintf(page->limit, sizeof page->limit, "100000");
    (void)snprintf(page->place, sizeof page->place, "0");
    rows = read_page(admin, page, error);
    if (rows != NULL && check_words(admin, page, request, rows, error) < 0) {
        json_decref(rows);
        return NULL;
    }
    return rows;
}

int parked_show(struct admin *admin, const struct parked_request *request,
                const struct parked_reader *reader, struct error *error)
{
    struct page page;
    json_t *rows;
    bool is_read;

    if (begin(&page, request, error) < 0)
        return -1;
    page.one = true;
    rows = read_words(admin, &page, request, error);
    is_read = rows != NULL;
    tell(reader, rows);
    json_decref(rows);
    end(&page);
    return is_read ? 0 : -1;
}

/* ---- changes ---- */

/* "1,2,3"; free() it. NULL: no memory. */
static char *pack_slices(const json_t *rows)
{
    bool has[TABLES_SLICES_MAX] = {false};
    struct writer writer;
    const char *divider = "";
    size_t at;
    json_t *row;

    if (!writer_begin(&writer))
        return NULL;
    json_array_foreach(rows, at, row)
    {
        json_int_t slice = json_integer_value(json_object_get(row, "_slice"));

        if (slice >= 0 && slice < TABLES_SLICES_MAX)
            has[slice] = true;
    }
    for (int i = 0; i < TABLES_SLICES_MAX; i++)
        if (has[i]) {
            (void)fprintf(writer.out, "%s%d", divider, i);
            divider = ",";
        }
    return writer_end(&writer);
}

/* While a lane has rows of their slices it publishes them perhaps. */
static int lock(struct admin *admin, const json_t *rows, struct error *error)
{
    char *slices = pack_slices(rows);
    const struct sql_fact facts[] = {{"locked", .text = slices}, {.name = NULL}};
    int64_t until_ms = clock_now_ms() + WAIT_FOR_BATCH_MS;
    MYSQL_RES *locked = NULL;

    if (slices == NULL)
        return error_no_memory(error);
    do { /* each START TRANSACTION lets go of what the one before has locked */
        if (db_execute(&admin->session, "START TRANSACTION", error) < 0)
            break;
        locked =
            tables_query(&admin->tables, &admin->session, db_sql_lock_these_slices, facts, error);
    } while (locked == NULL && error->cause == ERROR_LOCKED && clock_left_ms(until_ms) > 0);
    free(slices);
    mysql_free_result(locked);
    return locked != NULL ? 0 : -1;
}

/* The parameter of the statement; free() it. NULL with *error set. */
static char *pack_changed(struct admin *admin, enum parked_change change, const json_t *rows,
                          struct error *error)
{
    json_t *seqs = json_array();
    size_t at;
    json_t *row;
    char *list;

    json_array_foreach(rows, at, row)
    {
        (void)json_array_append(seqs, json_object_get(row, "_seq"));
    }
    list = json_dumps(seqs, JSON_COMPACT);
    json_decref(seqs);
    if (list == NULL)
        (void)error_no_memory(error);
    if (list == NULL || change == PARKED_DROP)
        return list;
    const struct sql_fact facts[] = {{"seqs", .text = list}, {.name = NULL}};

    seqs = document_rows(admin, db_sql_dead_order, facts, error);
    free(list);
    list = seqs != NULL ? json_dumps(seqs, JSON_COMPACT) : NULL;
    json_decref(seqs);
    return list;
}

static int run(struct admin *admin, enum parked_change change, const json_t *rows,
               struct error *error)
{
    const char *statement = change == PARKED_DROP ? db_sql_dead_drop : db_sql_dead_retry;
    char *list = pack_changed(admin, change, rows, error);
    char *sql;
    int64_t changed = -1;

    if (list == NULL)
        return -1;
    sql = tables_statement(&admin->tables, statement, NULL);
    const struct text param = text_of(list);

    if (sql != NULL)
        changed = db_run_once(&admin->session, sql, &param, 1, error);
    else
        (void)error_no_memory(error);
    free(sql);
    free(list);
    return changed < 0 ? -1 : 0;
}

/* The rows are read once more under the lock of their slices: what has left meanwhile is not
 * touched. */
static int change_page(struct admin *admin, enum parked_change change, const json_t *rows,
                       struct error *error)
{
    struct error ignored;

    if (json_array_size(rows) == 0)
        return 0;
    if (lock(admin, rows, error) == 0 && run(admin, change, rows, error) == 0 &&
        (change != PARKED_DROP || settle_adopt(&admin->tables, &admin->session, error) >= 0) &&
        db_execute(&admin->session, "COMMIT", error) >= 0)
        return 0;
    if (admin->session.conn != NULL)
        (void)db_execute(&admin->session, "ROLLBACK", &ignored);
    return -1;
}

/* Passes the rows of the filter, at most `left` of them, and makes the change. `change`: NULL: they
 * are only read. */
static int pass(struct admin *admin, const enum parked_change *change, struct page *page,
                int64_t left, const struct parked_reader *reader, struct error *error)
{
    size_t count = PAGE_ROWS;
    int status = 0;

    (void)snprintf(page->place, sizeof page->place, "%" PRId64, page->newest_first ? INT64_MAX : 0);
    while (status == 0 && count == PAGE_ROWS && left > 0) {
        json_t *rows;

        (void)snprintf(page->limit, sizeof page->limit, "%" PRId64,
                       left < PAGE_ROWS ? left : PAGE_ROWS);
        rows = read_page(admin, page, error);
        count = json_array_size(rows);
        left -= (int64_t)count;
        if (rows == NULL || (change != NULL && change_page(admin, *change, rows, error) < 0))
            status = -1;
        else
            tell(reader, rows);
        if (count > 0)
            (void)snprintf(page->place, sizeof page->place, "%" PRId64,
                           seq_of(json_array_get(rows, count - 1)));
        json_decref(rows);
    }
    return status;
}

int parked_list(struct admin *admin, const struct parked_request *request,
                const struct parked_reader *reader, struct error *error)
{
    int64_t limit = request->limit > 0 ? request->limit : INT64_MAX;
    struct page page;
    int status;

    if (begin(&page, request, error) < 0)
        return -1;
    page.newest_first = true;
    status = pass(admin, NULL, &page, limit, reader, error);
    end(&page);
    return status;
}

int parked_change(struct admin *admin, enum parked_change change,
                  const struct parked_request *request, bool dry_run,
                  const struct parked_reader *reader, struct error *error)
{
    struct page page;
    json_t *rows;
    int status = -1;

    if (begin(&page, request, error) < 0)
        return -1;
    page.changes = true;
    page.drops = change == PARKED_DROP;
    if (request->word_count == 0) {
        status = pass(admin, dry_run ? NULL : &change, &page, INT64_MAX, reader, error);
    } else if ((rows = read_words(admin, &page, request, error)) != NULL) {
        status = dry_run ? 0 : change_page(admin, change, rows, error);
        if (status == 0)
            tell(reader, rows);
        json_decref(rows);
    }
    end(&page);
    return status;
}
