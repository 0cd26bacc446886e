#include "outbox/sql.h"

#include "catalog/sql_text.h"
#include "pg/session.h"

#include <inttypes.h>
#include <string.h>

#define LEVEL_FACTOR 8
#define RELEASE_BATCHES 4
#define FEW_PARKED 100   /* rows with keys, at which each lean claim looks */
#define PASSED_ROWS 2000 /* of each of up to 8 slices */

/* Those that are no file. */
static const struct {
    const char *name;
    const char *text;
} commands[] = {
    {"begin", "BEGIN"},
    {"commit", "COMMIT"},
    {"rollback", "ROLLBACK"},
    {"savepoint", "SAVEPOINT relay_part"},
    {"rollback_to", "ROLLBACK TO SAVEPOINT relay_part"},
    {"release", "RELEASE SAVEPOINT relay_part"},
    {"keep_slices", "SAVEPOINT relay_slices"},
    {"back_to_slices", "ROLLBACK TO SAVEPOINT relay_slices"},
    {"hurry", "SET LOCAL statement_timeout = 2000"},
    {"careful", "SET LOCAL outbox_relay.careful = on"},
    {"take_time", "SET LOCAL statement_timeout = 10000"},
    {"constraints", "SET CONSTRAINTS ALL IMMEDIATE"},
};

_Static_assert(SESSION_STATEMENT_MS == 10000, "take_time restores the session's own limit");

enum { COMMANDS = sizeof commands / sizeof *commands };

/* ---- facts ---- */

struct lane_facts {
    const struct statement *statement;
    const struct slice_facts *slices;
};

static const struct statement *statement_of(const void *about)
{
    return ((const struct lane_facts *)about)->statement;
}

static const struct table *table_of(const void *about)
{
    return ((const struct lane_facts *)about)->slices->tables.table;
}

static const struct outbox_options *options_of(const void *about)
{
    return ((const struct lane_facts *)about)->slices->tables.options;
}

enum { LIMIT, INLINE_BYTES, BATCH_BYTES, RELEASE_MAX };

static int put_number(FILE *out, const void *about, const struct sql_fact *fact)
{
    const int64_t numbers[] = {
        [LIMIT] = statement_of(about)->limit,
        [INLINE_BYTES] = statement_of(about)->inline_bytes,
        [BATCH_BYTES] = options_of(about)->batch_bytes,
        [RELEASE_MAX] = (int64_t)RELEASE_BATCHES * options_of(about)->batch,
    };

    return fprintf(out, "%" PRId64, numbers[fact->column]) < 0 ? -1 : 0;
}

/* The values of the rows are computed by expressions. */
static bool computes(const void *about)
{
    return statement_of(about)->kind != CLAIM_PARKED && table_of(about)->is_computed;
}

static int is_so(const void *about, const char *name)
{
    const struct statement *statement = statement_of(about);
    const struct table *table = table_of(about);
    const struct sql_facts tables =
        table_facts(&((const struct lane_facts *)about)->slices->tables);
    bool parked = statement->kind == CLAIM_PARKED;
    bool one_row = statement->limit <= 1;
    const struct sql_truth all[] = {
        {"from_parked", parked},
        {"from_refused", statement->kind == CLAIM_REFUSED},
        {"one_row", one_row},
        {"computed_now", computes(about)},
        {"has_more", parked || computes(about)},
        {"tells_blocked", sql_names(statement->facts, "blocked") && table->parked_exists &&
                              sql_keeps_order(table, options_of(about))},
        /* Large payloads are converted to text only as long as there is time. */
        {"converts_payload",
         !one_row && !computes(about) && sql_holds("payload_is_converted", &tables)},
    };

    return sql_truth(all, sizeof all / sizeof *all, name);
}

/* {locked_id}, and {locked_key_text}: PostgreSQL could compute the keys of these rows, which are in
 * the index of the claims. */
static int put_locked_id(FILE *out, const void *about)
{
    const struct table_column *id = &table_of(about)->columns[COLUMN_ID];

    return fputs(computes(about) ? column_sql(id) : "id", out) < 0 ? -1 : 0;
}

static int put_locked_key_text(FILE *out, const void *about)
{
    const struct table_column *key = &table_of(about)->columns[COLUMN_KEY];
    bool is_bytes = strcmp(key->type, "bytea") == 0;

    return fprintf(out, is_bytes ? "encode(%s, 'hex')" : "%s::text",
                   computes(about) ? column_sql(key) : "key") < 0
               ? -1
               : 0;
}

static const struct sql_fact facts[] = {
    {"limit", .put_named = put_number, .column = LIMIT},
    {"inline_bytes", .put_named = put_number, .column = INLINE_BYTES},
    {"batch_bytes", .put_named = put_number, .column = BATCH_BYTES},
    {"release_max", .put_named = put_number, .column = RELEASE_MAX},
    {"key_bytes_max", .text = FACT_NUMBER(CLAIM_KEY_BYTES_MAX)},
    {"meta_bytes_max", .text = FACT_NUMBER(CLAIM_META_BYTES_MAX)},
    {"few_parked", .text = FACT_NUMBER(FEW_PARKED)},
    {"passed_rows", .text = FACT_NUMBER(PASSED_ROWS)},
    {"statement_ms", .text = FACT_NUMBER(SESSION_STATEMENT_MS)},
    {"locked_id", .put = put_locked_id},
    {"locked_key_text", .put = put_locked_key_text},
    {.name = NULL},
};

char *sql_statement(const struct statement *statement, const struct slice_facts *about)
{
    struct sql_facts tables;
    struct sql_facts slices = slice_facts(about, &tables);
    const struct lane_facts lane = {.statement = statement, .slices = about};
    const struct sql_facts list = {
        .names = statement->facts, .list = facts, .is = is_so, .about = &lane, .more = &slices};

    return sql_render(statement->text, &list);
}

/* ---- the list ---- */

int sql_claim_limit(const struct outbox_options *options, int level)
{
    int limit = options->batch;

    for (int i = 0; i < level; i++)
        limit /= LEVEL_FACTOR;
    return limit > 0 && level < CLAIM_LEVELS - 1 ? limit : 1;
}

static enum claim_kind kind_of(const struct sql_use *use)
{
    if (sql_names(use->facts, "from_parked"))
        return CLAIM_PARKED;
    return sql_names(use->facts, "from_refused") ? CLAIM_REFUSED : CLAIM_OUTBOX;
}

/* A statement of claims, which have levels, is there once for each as NAME_LEVEL. */
static bool take_use(const struct sql_use *use, int level, const struct table_facts *tables,
                     struct statement *statement)
{
    const struct sql_facts of_tables = table_facts(tables);
    bool has_levels = sql_names(use->facts, "levels");

    if (strcmp(use->user, "lane") != 0 || (level > 0 && !has_levels) ||
        !sql_holds(use->condition, &of_tables))
        return false;
    *statement = (struct statement){
        .text = use->text,
        .facts = use->facts,
        .kind = kind_of(use),
        .level = level,
        .limit = has_levels ? sql_claim_limit(tables->options, level) : 1,
    };
    (void)snprintf(statement->name, sizeof statement->name, has_levels ? "%s_%d" : "%s", use->name,
                   level);
    return true;
}

/* `*at` counts the commands, and then the levels of each statement. */
bool sql_next(int *at, const struct slice_facts *about, struct statement *statement)
{
    bool is_found = false;

    if (*at < COMMANDS) {
        *statement = (struct statement){.text = commands[*at].text, .facts = "", .limit = 1};
        (void)snprintf(statement->name, sizeof statement->name, "%s", commands[*at].name);
        is_found = true;
        ++*at;
    }
    while (!is_found && sql_uses[(*at - COMMANDS) / CLAIM_LEVELS].name != NULL) {
        is_found = take_use(&sql_uses[(*at - COMMANDS) / CLAIM_LEVELS],
                            (*at - COMMANDS) % CLAIM_LEVELS, &about->tables, statement);
        ++*at;
    }
    if (is_found)
        statement->inline_bytes = about->tables.options->batch_bytes / statement->limit;
    return is_found;
}
