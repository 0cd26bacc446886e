#include "outbox/sql.h"

#include "catalog/refused.h"
#include "catalog/sql_text.h"
#include "pg/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_FACTOR 8
#define RELEASE_BATCHES 4
#define PASSED_ROWS 2000 /* of each of up to 8 slices */

/* When a statement is used; all must be so. */
enum {
    BY_SLICE = 1, /* order = "key" */
    UNORDERED = 2,
    MARKING = 4, /* on_sent = "mark" */
    DELETING = 8,
    KEYED = 16, /* rows of a key keep their order: order = "key", and the table has a key column */
    NOT_KEYED = 32,
    BOUNDED = 64, /* the ids are integers */
    UNBOUNDED = 128,
    MOVING = 256,  /* a parked row leaves the outbox */
    IN_PLACE = 512 /* it stays, by [outbox] park */
};

/* The claims come once a level, as NAME_LEVEL. */
static const struct {
    const char *name;
    const char *text;
    unsigned when;
    const char *rows;
    enum claim_kind kind;
} statements[] = {
    {"begin", .text = "BEGIN"},
    {"commit", .text = "COMMIT"},
    {"rollback", .text = "ROLLBACK"},
    {"savepoint", .text = "SAVEPOINT relay_part"},
    {"rollback_to", .text = "ROLLBACK TO SAVEPOINT relay_part"},
    {"release", .text = "RELEASE SAVEPOINT relay_part"},
    {"keep_slices", .text = "SAVEPOINT relay_slices"},
    {"back_to_slices", .text = "ROLLBACK TO SAVEPOINT relay_slices"},
    {"hurry", .text = "SET LOCAL statement_timeout = 2000"},
    {"careful", .text = "SET LOCAL outbox_relay.careful = on"},
    {"take_time", .text = "SET LOCAL statement_timeout = 10000"},
    {"constraints", .text = "SET CONSTRAINTS ALL IMMEDIATE"},
    {"lock", .text = statement_lock},
    {"lock_slices", .text = statement_lock_slices, .when = BY_SLICE},
    {"lock_parked_slices", .text = statement_lock_due_slices, .when = BY_SLICE,
     .kind = CLAIM_PARKED},
    {"lock_refused_slices", .text = statement_lock_due_slices, .when = BY_SLICE,
     .kind = CLAIM_REFUSED},
    {"claim", .text = statement_claim_slices, .when = BY_SLICE, .rows = statement_claimed_rows},
    {"claim", .text = statement_claim_table_from, .when = UNORDERED | BOUNDED,
     .rows = statement_claimed_rows},
    {"claim", .text = statement_claim_table, .when = UNORDERED | UNBOUNDED,
     .rows = statement_claimed_rows},
    {"claim_parked", .text = statement_claim_parked_runs, .when = KEYED,
     .rows = statement_claimed_rows, .kind = CLAIM_PARKED},
    {"claim_parked", .text = statement_claim_parked, .when = NOT_KEYED | MOVING,
     .rows = statement_claimed_rows, .kind = CLAIM_PARKED},
    {"claim_parked", .text = statement_claim_parked_copies, .when = NOT_KEYED | IN_PLACE,
     .rows = statement_claimed_rows, .kind = CLAIM_PARKED},
    {"claim_refused", .text = statement_claim_refused, .rows = statement_claimed_rows,
     .kind = CLAIM_REFUSED},
    {"claimed", .text = statement_claimed},
    {"first_row", .text = statement_claim_slices, .when = BY_SLICE, .rows = statement_first_row},
    {"first_row", .text = statement_claim_table_from, .when = UNORDERED | BOUNDED,
     .rows = statement_first_row},
    {"first_row", .text = statement_claim_table, .when = UNORDERED | UNBOUNDED,
     .rows = statement_first_row},
    {"first_parked_row", .text = statement_claim_parked_runs, .when = KEYED,
     .rows = statement_first_row, .kind = CLAIM_PARKED},
    {"first_parked_row", .text = statement_claim_parked, .when = NOT_KEYED | MOVING,
     .rows = statement_first_row, .kind = CLAIM_PARKED},
    {"first_parked_row", .text = statement_claim_parked_copies, .when = NOT_KEYED | IN_PLACE,
     .rows = statement_first_row, .kind = CLAIM_PARKED},
    {"first_refused_row", .text = statement_claim_refused, .rows = statement_first_row,
     .kind = CLAIM_REFUSED},
    {"read_row", .text = statement_read_row, .rows = statement_claimed_rows},
    {"read_parked_row", .text = statement_read_parked_row, .rows = statement_claimed_rows,
     .kind = CLAIM_PARKED},
    {"sent", .text = statement_mark, .when = MARKING},
    {"sent", .text = statement_delete, .when = DELETING},
    {"stay_settled", .text = statement_stay_settled},
    {"sent_parked", .text = statement_mark_parked, .when = MARKING | MOVING},
    {"sent_parked", .text = statement_delete_parked, .when = DELETING | MOVING},
    {"sent_parked", .text = statement_delete_parked, .when = IN_PLACE},
    {"sent_copied", .text = statement_mark_copied, .when = MARKING | IN_PLACE},
    {"sent_copied", .text = statement_delete_copied, .when = DELETING | IN_PLACE},
    {"end_copies", .text = statement_end_copies, .when = IN_PLACE},
    {"park", .text = statement_park, .when = MOVING},
    {"park", .text = statement_park_in_place, .when = IN_PLACE},
    {"park_copied", .text = statement_park_copied, .when = IN_PLACE},
    {"park_parked", .text = statement_park_parked},
    {"park_raw", .text = statement_park_raw, .when = MOVING},
    {"park_raw", .text = statement_park_raw_in_place, .when = IN_PLACE},
    {"note", .text = statement_note},
    {"renote", .text = statement_renote},
    {"end_notes", .text = statement_end_notes},
    {"end_notes_of_none", .text = statement_end_notes_of_none},
    {"pauses", .text = statement_pauses},
    {"shape", .text = statement_shape},
    {"remaining", .text = statement_remaining},
    {"adopt_probes", .text = statement_adopt_probes},
    {"adopt_behind", .text = statement_adopt_behind},
    {"scan", .text = statement_scan_slices, .when = BY_SLICE | BOUNDED},
    {"scan", .text = statement_scan_window, .when = UNORDERED | BOUNDED},
    {"topics", .text = statement_topics_slices, .when = BY_SLICE},
    {"topics", .text = statement_topics_window, .when = UNORDERED | BOUNDED},
    {"topics", .text = statement_topics_table, .when = UNORDERED | UNBOUNDED},
    {"lock_row", .text = statement_lock_row},
};

_Static_assert(SESSION_STATEMENT_MS == 10000, "take_time restores the session's own limit");

enum { STATEMENTS = sizeof statements / sizeof *statements };

/* ---- words ---- */

/* What the words of a lane's statement are about. */
struct lane_words {
    const struct statement *statement;
    const struct slice_words *slices;
};

static const struct table *table_of(const void *about)
{
    return ((const struct lane_words *)about)->slices->tables.table;
}

static const struct outbox_options *options_of(const void *about)
{
    return ((const struct lane_words *)about)->slices->tables.options;
}

static int put_number(FILE *out, const struct sql_call *call)
{
    const struct lane_words *words = call->about;
    const struct {
        const char *word;
        int64_t number;
    } numbers[] = {
        {"limit", words->statement->limit},
        {"inline_bytes", words->statement->inline_bytes},
        {"batch_bytes", options_of(words)->batch_bytes},
        {"release_max", (int64_t)RELEASE_BATCHES * options_of(words)->batch},
        {"key_bytes_max", CLAIM_KEY_BYTES_MAX},
        {"meta_bytes_max", CLAIM_META_BYTES_MAX},
        {"notes_max", REFUSED_MAX},
        {"passed_rows", PASSED_ROWS},
        {"statement_ms", SESSION_STATEMENT_MS},
    };
    size_t at = 0;

    while (strcmp(numbers[at].word, call->word) != 0)
        at++;
    return fprintf(out, "%" PRId64, numbers[at].number) < 0 ? -1 : 0;
}

static const char *choose_result(const void *about)
{
    return ((const struct lane_words *)about)->statement->rows;
}

static const char *choose_lock_mode(const void *about)
{
    return options_of(about)->on_sent == ON_SENT_MARK ? "FOR NO KEY UPDATE" : "FOR UPDATE";
}

static const char *choose_blocked(const void *about)
{
    const struct lane_words *words = about;

    return words->statement->kind == CLAIM_OUTBOX &&
                   (words->statement->text == statement_claim_slices ||
                    words->statement->text == statement_read_row) &&
                   sql_keeps_order(table_of(about), options_of(about)) &&
                   table_of(about)->parked_exists
               ? statement_blocked
               : "NULL::bool";
}

/* Parked and refused rows have waited; of others nothing is said. */
static const char *choose_waits(const void *about)
{
    const char *const texts[] = {
        [CLAIM_OUTBOX] = "",
        [CLAIM_PARKED] = statement_waits_parked,
        [CLAIM_REFUSED] = statement_waits_refused,
    };

    return texts[((const struct lane_words *)about)->statement->kind];
}

static const char *choose_is_of_claim(const void *about)
{
    return ((const struct lane_words *)about)->statement->kind == CLAIM_PARKED
               ? "{is_tried} AND {is_head}"
               : "{is_note} AND (state = 'unsettled' OR {is_head})";
}

/* Where rows have no order, none is held back by another one of its key. */
static const char *choose_earlier(const void *about)
{
    return sql_keeps_order(table_of(about), options_of(about)) ? statement_earlier : "";
}

static const char *choose_is_held(const void *about)
{
    return sql_keeps_order(table_of(about), options_of(about)) ? statement_is_held : "false";
}

static const char *choose_copied_runs(const void *about)
{
    return table_of(about)->park != NULL ? statement_copied_runs : "";
}

static const char *choose_ready_runs(const void *about)
{
    return table_of(about)->park != NULL ? "SELECT relay_run FROM copied WHERE is_ready"
                                         : "SELECT relay_run FROM runs WHERE NOT {is_held}";
}

/* Where rows have no order, none waits for another one of its key. */
static const char *choose_left_key(const void *about)
{
    return sql_keeps_order(table_of(about), options_of(about)) ? "{key_text:key}" : "NULL::text";
}

static const char *choose_waited_columns(const void *about)
{
    static const char *const texts[] = {
        [CLAIM_OUTBOX] = "",
        [CLAIM_PARKED] = ",\nattempts, waited_ms, replayed_at, relay_kept_problem, is_known",
        [CLAIM_REFUSED] = ",\nattempts, waited_ms, replayed_at, relay_noted, relay_is_sent",
    };

    return texts[((const struct lane_words *)about)->statement->kind];
}

/* ---- values that are computed from a row of the outbox */

static bool is_computed(const void *about)
{
    const struct lane_words *words = about;

    return words->statement->kind != CLAIM_PARKED && table_of(about)->is_computed;
}

static const char *choose_locked_values(const void *about)
{
    if (((const struct lane_words *)about)->statement->kind == CLAIM_PARKED)
        return table_of(about)->is_computed ? statement_computed_parked
                                            : "(SELECT *, {kept_problem} AS relay_kept_problem FROM"
                                              " locked OFFSET 0) judged";
    return is_computed(about) ? statement_computed_values : "locked";
}

/* Without an expression nothing has tried whose functions the types of a whole row would call. */
static const char *choose_kept_problem(const void *about)
{
    return table_of(about)->is_computed
               ? statement_kept_problem
               : "CASE WHEN raw IS NOT NULL THEN 'this row is kept as a whole, and no value of"
                 " [outbox.columns] is computed now' END";
}

/* {mapping}: all names and expressions that a message is made of, as one text. */
static int put_mapping(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);

    (void)fputs("concat_ws(' '", out);
    for (int i = 0; i < COLUMN_COUNT + table->header_count; i++) {
        const struct table_column *column =
            i < COLUMN_COUNT ? &table->columns[i] : &table->headers[i - COLUMN_COUNT];

        if (i == COLUMN_SENT_AT || column->type[0] == '\0')
            continue;
        (void)fputs(", ", out);
        sql_put_literal(out, column_sql(column));
    }
    return fputs(")", out) < 0 ? -1 : 0;
}

static int put_parked_text(FILE *out, const struct sql_call *call)
{
    sql_put_literal(out, table_of(call->about)->parked_quoted);
    return 0;
}

/* {anew:NAME}: the value of a parked row, computed anew if the row is kept as a whole. */
static int put_anew(FILE *out, const struct sql_call *call)
{
    const char *name = call->argument;

    if (!table_has(table_of(call->about), column_of(name)))
        return fprintf(out, "relay_locked.%s", name) < 0 ? -1 : 0;
    return fprintf(out, "CASE WHEN relay_is_anew THEN computed.%s ELSE relay_locked.%s END", name,
                   name) < 0
               ? -1
               : 0;
}

static const char *choose_ordered_key(const void *about)
{
    return sql_keeps_order(table_of(about), options_of(about)) ? "{value_of:key}" : "NULL::text";
}

static const char *choose_key_name(const void *about)
{
    return sql_keeps_order(table_of(about), options_of(about)) ? ", key" : "";
}

static const char *choose_is_first_taken(const void *about)
{
    return sql_keeps_order(table_of(about), options_of(about)) ? statement_is_first_taken : "true";
}

static const char *choose_is_computed(const void *about)
{
    return ((const struct lane_words *)about)->statement->limit > 1 ? statement_is_computed
                                                                    : "true";
}

static const char *choose_noted(const void *about)
{
    return ((const struct lane_words *)about)->statement->kind == CLAIM_REFUSED
               ? ", relay_attempts, relay_noted_at, relay_noted, relay_is_sent"
               : "";
}

static const char *choose_payload_is_null(const void *about)
{
    return is_computed(about) ? "relay_is_computed AND payload IS NULL" : "payload IS NULL";
}

static bool has_more(const void *about)
{
    return ((const struct lane_words *)about)->statement->kind == CLAIM_PARKED ||
           is_computed(about);
}

static const char *choose_more_headers(const void *about)
{
    return has_more(about) ? "more_headers" : "NULL::bytea[]";
}

/* A parked value may be compressed. */
static const char *choose_more_headers_len(const void *about)
{
    if (!has_more(about))
        return "0";
    return is_computed(about) ? "coalesce(pg_column_size(more_headers), 0)"
                              : "coalesce(octet_length(array_send(more_headers)), 0)";
}

static const char *choose_not_before(const void *about)
{
    return has_more(about) ? "not_before" : "NULL::timestamptz";
}

static const char *choose_locked_id(const void *about)
{
    return is_computed(about) ? "{id}" : "id";
}

/* PostgreSQL could compute the keys of these rows: they are in the index of the claims. */
static int put_locked_key_text(FILE *out, const struct sql_call *call)
{
    const struct table_column *key = &table_of(call->about)->columns[COLUMN_KEY];
    bool is_bytes = strcmp(key->type, "bytea") == 0;

    return fprintf(out, is_bytes ? "encode(%s, 'hex')" : "%s::text",
                   is_computed(call->about) ? column_sql(key) : "key") < 0
               ? -1
               : 0;
}

static const char *choose_note_columns(const void *about)
{
    return ((const struct lane_words *)about)->statement->kind == CLAIM_REFUSED
               ? ", relay_noted, relay_is_sent"
               : "";
}

/* The condition would keep PostgreSQL from the index of the claims. */
static const char *choose_has_id(const void *about)
{
    return table_of(about)->columns[COLUMN_ID].not_null ? "true" : "{id} IS NOT NULL";
}

static const char *choose_lost_rows(const void *about)
{
    return table_of(about)->columns[COLUMN_ID].not_null ? "0" : statement_lost_rows;
}

static bool is_varying_text(const char *type)
{
    static const char varying[] = "character varying";

    if (strstr(type, "[]") != NULL)
        return false;
    return strcmp(type, "bytea") == 0 || strcmp(type, "text") == 0 ||
           strncmp(type, varying, sizeof varying - 1) == 0;
}

/* bytea, text and the event id's uuid are sent in their binary format, all other types as text. */
static bool is_sent_binary(const struct table *table, enum column column)
{
    const char *type = table->columns[column].base;

    return is_varying_text(type) || (column == COLUMN_EVENT_ID && strcmp(type, "uuid") == 0);
}

/* Other columns than payload and headers. */
static int put_as_sent(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);
    enum column column = column_of(call->argument);
    const char *type = column == COLUMN_CREATED_AT ? "timestamptz" : "text";
    const char *value = table_has(table, column) ? call->argument : "NULL";

    if (column != COLUMN_CREATED_AT && table_has(table, column) && is_sent_binary(table, column))
        return fputs(value, out) < 0 ? -1 : 0;
    return fprintf(out, "%s::%s", value, type) < 0 ? -1 : 0;
}

static const char *choose_payload(const void *about)
{
    if (!table_has(table_of(about), COLUMN_PAYLOAD))
        return "NULL::text";
    if (is_sent_binary(table_of(about), COLUMN_PAYLOAD))
        return "payload";
    return ((const struct lane_words *)about)->statement->limit > 1 && !is_computed(about)
               ? statement_payload_text
               : "payload::text";
}

static const char *choose_headers(const void *about)
{
    const struct table *table = table_of(about);

    if (!table_has(table, COLUMN_HEADERS))
        return "NULL::text";
    if (is_sent_binary(table, COLUMN_HEADERS))
        return "headers";
    return strcmp(table->columns[COLUMN_HEADERS].base, "jsonb") == 0 ? statement_headers_text
                                                                     : "headers::text";
}

static int put_id_of_text(FILE *out, const struct sql_call *call)
{
    return fprintf(out, "%s::%s", call->argument, table_of(call->about)->columns[COLUMN_ID].type) <
                   0
               ? -1
               : 0;
}

static const struct sql_word words[] = {
    {"limit", .put = put_number},
    {"inline_bytes", .put = put_number},
    {"batch_bytes", .put = put_number},
    {"release_max", .put = put_number},
    {"key_bytes_max", .put = put_number},
    {"meta_bytes_max", .put = put_number},
    {"notes_max", .put = put_number},
    {"statement_ms", .put = put_number},
    {"claim_position", .text = statement_claim_position},
    {"result", .choose = choose_result},
    {"lock_mode", .choose = choose_lock_mode},
    {"blocked", .choose = choose_blocked},
    {"earlier", .choose = choose_earlier},
    {"is_held", .choose = choose_is_held},
    {"copied_runs", .choose = choose_copied_runs},
    {"ready_runs", .choose = choose_ready_runs},
    {"copy_is_free", .text = statement_copy_is_free},
    {"put_off", .text = statement_put_off},
    {"passed_rows", .put = put_number},
    {"waits", .choose = choose_waits},
    {"left_key", .choose = choose_left_key},
    {"is_of_claim", .choose = choose_is_of_claim},
    {"waited_columns", .choose = choose_waited_columns},
    {"note_columns", .choose = choose_note_columns},
    {"has_id", .choose = choose_has_id},
    {"lost_rows", .choose = choose_lost_rows},
    {"as_sent", .put = put_as_sent},
    {"payload_as_sent", .choose = choose_payload},
    {"headers_as_sent", .choose = choose_headers},
    {"locked_values", .choose = choose_locked_values},
    {"due_in_ms", .text = statement_due_in_ms},
    {"anew", .put = put_anew},
    {"ordered_key", .choose = choose_ordered_key},
    {"key_name", .choose = choose_key_name},
    {"locked_id", .choose = choose_locked_id},
    {"locked_key_text", .put = put_locked_key_text},
    {"is_computed", .choose = choose_is_computed},
    {"noted", .choose = choose_noted},
    {"payload_is_null", .choose = choose_payload_is_null},
    {"more_headers_as_sent", .choose = choose_more_headers},
    {"more_headers_len", .choose = choose_more_headers_len},
    {"not_before_as_sent", .choose = choose_not_before},
    {"taken_bytes",
     .text = "coalesce(nullif(current_setting('outbox_relay.taken', true), '')::int8, 0)"},
    {"is_careful",
     .text = "(SELECT coalesce(current_setting('outbox_relay.careful', true), '') <> '')"},
    {"count_settled", .text = statement_count_settled},
    {"free_next", .text = statement_free_next},
    {"release", .text = statement_release},
    {"given", .text = statement_given},
    {"raw_values", .text = statement_raw_values},
    {"kept_as_sent", .text = statement_kept_as_sent},
    {"kept_problem", .choose = choose_kept_problem},
    {"mapping", .put = put_mapping},
    {"parked_text", .put = put_parked_text},
    {"drop_copies", .text = statement_drop_copies},
    {"is_first_taken", .choose = choose_is_first_taken},
    {"copied_rows", .text = statement_copied_rows},
    {"is_copied", .text = statement_is_copied},
    {"count_copied", .text = statement_count_copied},
    {"due_notes", .text = statement_due_notes},
    {"is_noted_row", .text = statement_is_noted_row},
    {"id_of_text", .put = put_id_of_text},
    {.name = NULL},
};

char *sql_statement(const struct statement *statement, const struct slice_words *about)
{
    struct sql_words tables;
    struct sql_words slices = slice_words(about, &tables);
    const struct lane_words lane = {.statement = statement, .slices = about};
    const struct sql_words list = {.list = words, .about = &lane, .more = &slices};

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

static unsigned properties(const struct table_words *about)
{
    const struct outbox_options *options = about->options;
    bool by_slice = options->order == ORDER_KEY;

    return (by_slice ? BY_SLICE : UNORDERED) |
           (options->on_sent == ON_SENT_MARK ? MARKING : DELETING) |
           (sql_keeps_order(about->table, options) ? KEYED : NOT_KEYED) |
           (table_has_integer_ids(about->table) ? BOUNDED : UNBOUNDED) |
           (about->table->park != NULL ? IN_PLACE : MOVING);
}

/* `*at` counts the levels of each statement. */
bool sql_next(int *at, const struct slice_words *about, struct statement *statement)
{
    const struct outbox_options *options = about->tables.options;
    unsigned is = properties(&about->tables);

    for (; *at < STATEMENTS * CLAIM_LEVELS; ++*at) {
        int i = *at / CLAIM_LEVELS;
        int level = *at % CLAIM_LEVELS;
        bool has_levels =
            strncmp(statements[i].name, "claim", 5) == 0 && statements[i].rows != NULL;

        if ((statements[i].when & ~is) != 0 || (level > 0 && !has_levels))
            continue;
        *statement = (struct statement){.text = statements[i].text,
                                        .rows = statements[i].rows,
                                        .kind = statements[i].kind,
                                        .limit = has_levels ? sql_claim_limit(options, level) : 1};
        statement->inline_bytes = options->batch_bytes / statement->limit;
        (void)snprintf(statement->name, sizeof statement->name, has_levels ? "%s_%d" : "%s",
                       statements[i].name, level);
        ++*at;
        return true;
    }
    return false;
}
