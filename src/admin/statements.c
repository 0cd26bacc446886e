/* What `outbox-relay sql` prints: the statements of lanes, of the horizon, of commands, and of what
 * describes the tables. */
#include "admin/admin_session.h"

#include "admin/audit.h"
#include "admin/parked/parked_sql.h"
#include "admin/words.h"
#include "catalog/describe.h"
#include "catalog/schema.h"
#include "catalog/sequence.h"

#include <stdlib.h>

/* When a statement is used; all must be so. */
enum {
    MARKED = 1, /* the outbox has the column sent_at */
    MARKING = 2,
    SEQUENTIAL = 4,
    NOT_SEQUENTIAL = 8,
    INTEGERS = 16, /* the ids are integers */
    AGED = 32,     /* the age of the oldest rows can be found */
    KEYED = 64,    /* an index finds the parked rows of a key */
    BY_SLICE = 128,
    NOT_BY_SLICE = 256,
    FROM_ID = 512,  /* it is known that no unsent row has a lower id */
    EMITTING = 1024 /* an event's values go into columns */
};

static const struct {
    const char *name;
    const char *text;
    unsigned when;
} statements[] = {
    {"backlog", statement_backlog, 0},
    {"backlog_from", statement_backlog, INTEGERS | FROM_ID},
    {"backlog_oldest", statement_backlog_oldest, AGED},
    {"backlog_oldest_from", statement_backlog_oldest, AGED | INTEGERS | FROM_ID},
    {"backlog_topics", statement_backlog_topics, 0},
    {"backlog_topics_from", statement_backlog_topics, INTEGERS | FROM_ID},
    {"settled", statement_settled, 0},
    {"parked_rows", statement_parked_rows, 0},
    {"dead_rows", statement_dead_rows, 0},
    {"held_rows", statement_held_rows, KEYED},
    {"waiting_rows", statement_waiting_rows, 0},
    {"refused_rows", statement_refused_rows, 0},
    {"reasons", statement_reasons, 0},
    {"table_sizes", statement_table_sizes, 0},
    {"oldest_snapshot", statement_oldest_snapshot, 0},
    {"relay_sessions", statement_relay_sessions, 0},
    {"vacuum_holders", statement_vacuum_holders, 0},
    {"purge", statement_purge, MARKED | SEQUENTIAL},
    {"purge", statement_purge_unordered, MARKED | NOT_SEQUENTIAL},
    {"purge_page", statement_purge_page, MARKED | SEQUENTIAL},
    {"purge_page", statement_purge_page_unordered, MARKED | NOT_SEQUENTIAL},
    {"purge_rows", statement_purge_rows, MARKED},
    {"purge_parked", statement_purge_parked, 0},
    {"count_purgeable", statement_count_purgeable, MARKED},
    {"count_purgeable_parked", statement_count_purgeable_parked, 0},
    {"adopt_probes", statement_adopt_probes, 0},
    {"adopt_behind", statement_adopt_behind, 0},
    {"count_unsent", statement_count_unsent, 0},
    {"sample", statement_sample, 0},
    {"audit_page", statement_audit_page, MARKING | MARKED},
    {"audit_parked_page", statement_audit_parked_page, MARKING | MARKED},
    {"audit_known", statement_audit_known, MARKING | MARKED},
    {"audit_parked_known", statement_audit_parked_known, MARKING | MARKED},
    {"emit_json", statement_emit_json, EMITTING},
    {"may_return_ids", statement_may_return_ids, EMITTING},
    {"inspect_role", statement_inspect_role, 0},
    {"settings_off", statement_settings_off, 0},
    {"table_settings", statement_table_settings, 0},
    {"referencing_keys", statement_referencing_keys, 0},
    {"publications", statement_publications, 0},
    {"settling_triggers", statement_settling_triggers, 0},
    {"unordered_indexes", statement_unordered_indexes, MARKED | BY_SLICE},
    {"rows_without_id", statement_rows_without_id, 0},
    {"ids_left", statement_ids_left, INTEGERS},
    {"newest_created", statement_newest_created, AGED},
    {"newest_sent", statement_newest_sent, MARKED},
    {"let_go", statement_let_go, 0},
    {"open_claims", statement_open_claims, 0},
    {"list_pauses", statement_list_pauses, 0},
    {"rows_to_send", statement_rows_to_send, 0},
    {"sent_marks", statement_sent_marks, 0},
    {"remember_condition", statement_remember_condition, 0},
    {"acknowledged", statement_acknowledged, 0},
    {"remember_acknowledged", statement_remember_acknowledged, 0},
    {"remember_loss", statement_remember_loss, 0},
    {"lost_age", statement_lost_age, 0},
    {"losses", statement_losses, 0},
    {"forget_losses", statement_forget_losses, 0},
    {"find_schema", statement_find_schema, 0},
    {"find_tables", statement_find_tables, 0},
    {"find_others", statement_find_others, 0},
    {"table_columns", statement_table_columns, 0},
    {"borrowed_function", statement_borrowed_function, 0},
    {"id_indexes", statement_id_indexes, NOT_BY_SLICE},
    {"slice_table", statement_slice_table, BY_SLICE},
    {"slice_indexes", statement_slice_indexes, BY_SLICE},
    {"slice_index_name", statement_slice_index_name, BY_SLICE},
    {"count_slices", statement_count_slices, BY_SLICE},
    {"sequence", statement_sequence, INTEGERS},
    {"parked_columns", statement_parked_columns, 0},
    {"parked_indexes", statement_parked_indexes, 0},
    {"notify_trigger", statement_notify_trigger, 0},
    {"foreign_function", statement_foreign_function, 0},
    {"order_trigger", statement_order_trigger, BY_SLICE},
    {"order_grants", statement_order_grants, BY_SLICE},
    {"lock_intruder", statement_lock_intruder, 0},
    {"other_zones", statement_other_zones, 0},
    {"is_superuser", statement_is_superuser, 0},
    {"server_identity", statement_server_identity, 0},
    {"end_previous_backend", statement_end_previous_backend, 0},
    {"lock_holders", statement_lock_holders, 0},
    {"advisory_holder", statement_advisory_holder, 0},
};

/* Those of `dead`. */
static const struct {
    const char *name;
    struct parked_request request;
} requests[] = {
    {"dead_list", {.verb = PARKED_LIST}},
    {"dead_list_json", {.verb = PARKED_LIST, .json = true}},
    {"dead_show", {.verb = PARKED_SHOW, .id_count = 1}},
    {"dead_show_json", {.verb = PARKED_SHOW, .id_count = 1, .json = true}},
    {"dead_retry", {.verb = PARKED_RETRY}},
    {"dead_retry_json", {.verb = PARKED_RETRY, .json = true}},
    {"dead_retry_ids", {.verb = PARKED_RETRY, .id_count = 1}},
    {"dead_retry_dry", {.verb = PARKED_RETRY, .dry_run = true}},
    {"dead_drop", {.verb = PARKED_DROP}},
    {"dead_drop_json", {.verb = PARKED_DROP, .json = true}},
    {"dead_drop_ids", {.verb = PARKED_DROP, .id_count = 1}},
    {"dead_drop_dry", {.verb = PARKED_DROP, .id_count = 1, .dry_run = true, .json = true}},
};

/* Others with the words of parked rows. */
static const struct {
    const char *name;
    const char *text;
    unsigned when;
} others[] = {
    {"parked_bounds", statement_parked_bounds, 0},
    {"payload_is_bytea", statement_payload_is_bytea, 0},
    {"audit_since", statement_audit_since, MARKING | MARKED},
    {"replay_moments", statement_replay_moments, MARKING | MARKED},
    {"replay_ids", statement_replay_ids, MARKING | MARKED | INTEGERS},
    {"repair_ids", statement_repair_ids, MARKING | MARKED},
    {"replay_words", statement_replay_words, MARKING | MARKED},
    {"replay_count", statement_replay_count, MARKING | MARKED},
    {"replay", statement_replay, MARKING | MARKED},
};

static unsigned properties(const struct table_words *about)
{
    const struct table *table = about->table;
    bool by_slice = about->options->order == ORDER_KEY;
    unsigned is = FROM_ID;
    struct error no_event;

    is |= admin_check_emit(table, &no_event) == 0 ? EMITTING : 0;
    is |= table_has(table, COLUMN_SENT_AT) ? MARKED : 0;
    is |= about->options->on_sent == ON_SENT_MARK ? MARKING : 0;
    is |= has_sequential_ids(table) ? SEQUENTIAL : NOT_SEQUENTIAL;
    is |= table_has_integer_ids(table) ? INTEGERS : 0;
    is |= table_has(table, COLUMN_CREATED_AT) && oldest_can_be_found(about) ? AGED : 0;
    is |= parked_key_columns(table) != NULL ? KEYED : 0;
    return is | (by_slice ? BY_SLICE : NOT_BY_SLICE);
}

/* The comment in front of the statement is that of its file. */
static int show(const struct admin_statement_reader *reader, const char *name, const char *text,
                char *sql, struct error *error)
{
    if (sql == NULL)
        return error_no_memory(error);
    reader->on_statement(reader->closure, name, text, (size_t)(sql_body(text) - text), sql);
    free(sql);
    return 0;
}

static int show_statements(const struct admin_statement_reader *reader,
                           const struct table_words *tables, struct error *error)
{
    unsigned is = properties(tables);

    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        const struct admin_words about = {
            .tables = *tables, .unsent_from = (statements[i].when & FROM_ID) != 0 ? 1 : INT64_MIN};
        struct sql_words more;
        const struct sql_words words = admin_words(&about, &more);

        if ((statements[i].when & ~is) == 0 &&
            show(reader, statements[i].name, statements[i].text,
                 sql_render(statements[i].text, &words), error) < 0)
            return -1;
    }
    return 0;
}

static int show_parked_statements(const struct admin_statement_reader *reader,
                                  const struct table_words *tables, struct error *error)
{
    unsigned is = properties(tables);

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const struct parked_statement statement = parked_statement(&requests[i].request);

        if (show(reader, requests[i].name, statement.text, parked_sql(&statement, tables), error) <
            0)
            return -1;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct parked_statement statement = {.text = others[i].text};

        if ((others[i].when & ~is) == 0 &&
            show(reader, others[i].name, statement.text, parked_sql(&statement, tables), error) < 0)
            return -1;
    }
    return 0;
}

int admin_read_statements(struct admin *admin, const struct routes *routes,
                          const struct admin_statement_reader *reader, struct error *error)
{
    struct sequence sequence;
    const struct slice_words about = {
        .tables = {&admin->table, admin->options}, .routes = routes, .sequence = &sequence};
    const struct slice_words of_horizon = {.tables = about.tables, .sequence = &sequence};
    bool is_marking = (properties(&about.tables) & (MARKING | MARKED)) == (MARKING | MARKED);
    struct statement statement;
    int at = 0;

    if (describe_check_whole(&admin->table, admin->options, error) < 0 ||
        sequence_describe(&sequence, &admin->session, &admin->table, error) < 0)
        return -1;
    while (sql_next(&at, &about, &statement))
        if (show(reader, statement.name, statement.text, sql_statement(&statement, &about), error) <
            0)
            return -1;
    for (int parked = 0; parked <= 1 && is_marking; parked++) {
        statement = audit_statement(admin->options, parked);
        if (show(reader, statement.name, statement.text, sql_statement(&statement, &about), error) <
            0)
            return -1;
    }
    for (int i = 0; i < HORIZON_STATEMENTS && table_has_integer_ids(&admin->table); i++) {
        const char *text = horizon_statement_text((enum horizon_statement)i, admin->options);

        if (show(reader, horizon_statement_name((enum horizon_statement)i), text,
                 slice_statement(text, &of_horizon), error) < 0)
            return -1;
    }
    return show_statements(reader, &about.tables, error) < 0
               ? -1
               : show_parked_statements(reader, &about.tables, error);
}
