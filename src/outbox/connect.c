/*
 * Connects a lane: opens the session, describes and checks the table, and prepares all statements
 * in one round trip.
 */
#include "outbox/refused.h"

#include "base/log.h"
#include "catalog/adoption.h"
#include "catalog/describe.h"
#include "catalog/filter.h"
#include "catalog/parked_table.h"
#include "catalog/shape.h"
#include "catalog/zone.h"
#include "outbox/slices/sql_horizon.h"
#include "outbox/slices/sql_slices.h"
#include "pg/open.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static int prepare_slices(struct outbox *outbox, struct error *error)
{
    const struct table *table = &outbox->table;
    const struct outbox_options *options = outbox->options;

    if (options->order == ORDER_KEY &&
        (pipeline_prepare(&outbox->pipeline, "lock_slices",
                          sql_lock_slices(table, options, outbox->routes, &outbox->sequence),
                          error) < 0 ||
         pipeline_prepare(&outbox->pipeline, "lock_parked_slices",
                          sql_lock_parked_slices(table, options, outbox->routes, false),
                          error) < 0 ||
         pipeline_prepare(&outbox->pipeline, "lock_refused_slices",
                          sql_lock_parked_slices(table, options, outbox->routes, true), error) < 0))
        return -1;
    if (!table_has_integer_ids(table))
        return 0;
    return pipeline_prepare(&outbox->pipeline, "scan",
                            sql_scan(table, options, outbox->routes,
                                     options->order == ORDER_KEY ? 0 : AWAY_WINDOW_ROWS),
                            error);
}

static int prepare_claims(struct outbox *outbox, struct error *error)
{
    char name[32];

    for (int i = 0; i < CLAIM_KINDS * CLAIM_LEVELS; i++) {
        int level = i / CLAIM_KINDS;
        struct claim_text text = {.kind = (enum claim_kind)(i % CLAIM_KINDS),
                                  .limit = outbox_claim_limit(outbox, level),
                                  .routes = outbox->routes};

        if (text.kind < CLAIM_PARKED &&
            (text.kind == CLAIM_SLICES) != (outbox->options->order == ORDER_KEY))
            continue;
        text.inline_bytes = outbox->options->batch_bytes / text.limit;
        outbox_name_claim(name, text.kind, level);
        if (pipeline_prepare(&outbox->pipeline, name,
                             sql_claim(&outbox->table, outbox->options, &text), error) < 0)
            return -1;
    }
    return 0;
}

/* Statements for rows that cannot be read: one finds the ctid of the first due row, the other reads
 * the values of a single row. */
static int prepare_single_rows(struct outbox *outbox, struct error *error)
{
    const struct table *table = &outbox->table;
    const struct outbox_options *options = outbox->options;
    struct claim_text text = {.kind = options->order == ORDER_KEY ? CLAIM_SLICES : CLAIM_TABLE,
                              .limit = 1,
                              .inline_bytes = options->batch_bytes,
                              .routes = outbox->routes};
    struct claim_text parked = text;
    struct claim_text refused = text;

    parked.kind = CLAIM_PARKED;
    refused.kind = CLAIM_REFUSED;
    if (pipeline_prepare(&outbox->pipeline, "first_row", sql_first_row(table, options, &text),
                         error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "first_parked_row",
                         sql_first_row(table, options, &parked), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "first_refused_row",
                         sql_first_row(table, options, &refused), error) < 0)
        return -1;
    text.alone = true;
    parked.alone = true;
    if (pipeline_prepare(&outbox->pipeline, "read_row", sql_claim(table, options, &text), error) <
        0)
        return -1;
    return pipeline_prepare(&outbox->pipeline, "read_parked_row",
                            sql_claim(table, options, &parked), error);
}

_Static_assert(SESSION_STATEMENT_MS == 10000, "take_time restores the session's own limit");

static int prepare_all(struct outbox *outbox, struct error *error)
{
    const struct table *table = &outbox->table;
    const struct outbox_options *options = outbox->options;

    if (pipeline_prepare(&outbox->pipeline, "begin", strdup("BEGIN"), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "commit", strdup("COMMIT"), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "rollback", strdup("ROLLBACK"), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "savepoint", strdup("SAVEPOINT relay_part"), error) <
            0 ||
        pipeline_prepare(&outbox->pipeline, "rollback_to",
                         strdup("ROLLBACK TO SAVEPOINT relay_part"), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "release", strdup("RELEASE SAVEPOINT relay_part"),
                         error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "keep_slices", strdup("SAVEPOINT relay_slices"),
                         error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "back_to_slices",
                         strdup("ROLLBACK TO SAVEPOINT relay_slices"), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "hurry", strdup("SET LOCAL statement_timeout = 2000"),
                         error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "careful",
                         strdup("SET LOCAL outbox_relay.careful = on"), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "take_time",
                         strdup("SET LOCAL statement_timeout = 10000"), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "constraints", strdup("SET CONSTRAINTS ALL IMMEDIATE"),
                         error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "lock", sql_lock(table), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "claimed", sql_claimed(table), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "shape", sql_shape(table), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "pauses", sql_pauses(table), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "sent", sql_sent(table, options, false), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "sent_parked", sql_sent(table, options, true), error) <
            0 ||
        pipeline_prepare(&outbox->pipeline, "park", sql_park(table, options, false), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "park_parked", sql_park(table, options, true), error) <
            0 ||
        pipeline_prepare(&outbox->pipeline, "park_bare", sql_park_bare(table), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "stay_settled", sql_stay_settled(table, options),
                         error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "note", sql_note(table), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "renote", sql_renote(table), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "end_notes", sql_end_notes(table, options), error) <
            0 ||
        pipeline_prepare(&outbox->pipeline, "end_notes_of_none",
                         sql_end_notes_of_none(table, options), error) < 0 ||
        pipeline_prepare(&outbox->pipeline, "remaining", sql_remaining(table, options), error) <
            0 ||
        prepare_slices(outbox, error) < 0 || prepare_claims(outbox, error) < 0 ||
        prepare_single_rows(outbox, error) < 0)
        return -1;
    return pipeline_read_prepared(&outbox->pipeline, error);
}

/* Checked before the indexes: an index that only seems to be missing because the condition is wrong
 * must not be reported. */
static int check_condition(const struct table *table, struct outbox *outbox, struct error *error)
{
    struct adoption adoption;

    if (adoption_read_note(&adoption, table, &outbox->pipeline.session, error) < 0)
        return -1;
    if (adoption.state != ADOPTION_CONDITION)
        return 0;
    adoption_explain(&adoption, table, outbox->options, error);
    return -1;
}

/* A column may have been renamed, so its absence is reported; sent_at may also belong to the
 * application. */
static void warn_of_columns(const struct table *table, const struct outbox_options *options)
{
    const struct table_column *id = &table->columns[COLUMN_ID];
    char hint[160];

    for (int i = 0; i < COLUMN_SENT_AT; i++) {
        const struct table_column *column = &table->columns[i];

        if (column->name == NULL || table_has(table, (enum column)i))
            continue;
        (void)snprintf(hint, sizeof hint, "write %s = \"%s\" in [outbox.columns]",
                       column_name((enum column)i), column->offer);
        log_event(LOG_WARN, LOG_FIELDS(.hint = column->offer[0] != '\0' ? hint : NULL),
                  "table %s has no column \"%s\": its messages are sent without it%s%s",
                  table->quoted, column->name,
                  column->offer[0] != '\0' ? "; it may be column " : "", column->offer);
    }
    if (!id->not_null)
        log_warn("column %s (id) of %s may be NULL: a row without an id is never sent", id->quoted,
                 table->quoted);
    if (options->on_sent == ON_SENT_DELETE && table_has(table, COLUMN_SENT_AT))
        log_warn("rows of table %s whose %s is set count as sent, although on_sent is \"delete\"",
                 table->quoted, table->columns[COLUMN_SENT_AT].quoted);
}

/* As check does: messages would carry a time that is hours away from the true one. */
static int warn_of_zone(const struct table *table, const struct outbox_options *options,
                        struct session *session, struct error *error)
{
    const struct table_column *created_at = &table->columns[COLUMN_CREATED_AT];
    struct zones zones;
    char hint[160];

    if (options->time_zone != NULL || !zone_is_lacking(created_at))
        return 0;
    if (zone_find_others(&zones, session, error) < 0)
        return -1;
    (void)snprintf(hint, sizeof hint,
                   "write time_zone = \"%s\", or the zone in which the application writes, in"
                   " [outbox]",
                   zones.first);
    if (zones.all[0] != '\0')
        log_event(LOG_WARN, LOG_FIELDS(.hint = hint),
                  "column %s (created_at) of %s has no time zone, and is read as UTC, but sessions"
                  " of this database have TimeZone %s",
                  created_at->quoted, table->quoted, zones.all);
    return 0;
}

/* outbox->table stays the last description that passed all checks. */
static int describe(struct outbox *outbox, struct error *error)
{
    struct table table = {0};
    struct adoption adoption;
    const char *payload;
    static atomic_flag warned = ATOMIC_FLAG_INIT; /* a process has one outbox */

    if (describe_table(&table, &outbox->pipeline.session, outbox->options, error) < 0 ||
        filter_try_index(&table, &outbox->pipeline.session, error) < 0 ||
        describe_check_whole(&table, outbox->options, error) < 0 ||
        check_condition(&table, outbox, error) < 0 ||
        describe_check_usable(&table, outbox->options, error) < 0 ||
        parked_check(&table, &outbox->pipeline.session, error) < 0 ||
        describe_check_unchanged(&table, &outbox->table, error) < 0 ||
        sequence_describe(&outbox->sequence, &outbox->pipeline.session, &table, error) < 0 ||
        adoption_settle(&adoption, &table, &outbox->pipeline.session, outbox->options, error) < 0) {
        table_name_holders(&table, &outbox->pipeline.session, error);
        return -1;
    }
    outbox->table = table;
    payload = table.columns[COLUMN_PAYLOAD].base;
    outbox->payload_is_json = strcmp(payload, "json") == 0 || strcmp(payload, "jsonb") == 0;
    if (atomic_flag_test_and_set(&warned))
        return 0;
    warn_of_columns(&table, outbox->options);
    return warn_of_zone(&table, outbox->options, &outbox->pipeline.session, error);
}

static int connect_session(struct outbox *outbox, struct error *error)
{
    struct session_options session = outbox_session_options(outbox->options);

    if (session_open(&outbox->pipeline.session, &session, outbox->name, error) < 0)
        return -1;
    if (server_check_role(&outbox->pipeline.session, outbox->options->allow_superuser, error) < 0 ||
        server_check_identity(&outbox->server, &outbox->pipeline.session, error) < 0 ||
        server_terminate_previous(&outbox->pipeline.session, error) < 0)
        return pipeline_abort(&outbox->pipeline);
    server_log_unconfirmed_commit(&outbox->server, &outbox->pipeline.session);
    if (describe(outbox, error) < 0 ||
        (outbox->options->order == ORDER_KEY &&
         session_force_generic_plans(&outbox->pipeline.session, error) < 0))
        return pipeline_abort(&outbox->pipeline);
    if (pipeline_enter(&outbox->pipeline, error) < 0)
        return -1;
    if (prepare_all(outbox, error) < 0)
        return pipeline_abort(&outbox->pipeline);
    if (outbox->slices.horizon != NULL)
        horizon_connected(outbox->slices.horizon, &outbox->server);
    return 0;
}

int outbox_ready(struct outbox *outbox, struct error *error)
{
    if (outbox->pipeline.session.conn == NULL && connect_session(outbox, error) < 0)
        return -1;
    return refused_note_killer(outbox, error);
}
