/*
 * Connects a lane: opens the session, describes and checks the table, and prepares the statements
 * in one round trip, but for those of claims that ask for fewer rows, which few sessions need.
 */
#include "outbox/refused.h"

#include "base/log.h"
#include "catalog/adoption.h"
#include "catalog/columns.h"
#include "catalog/describe.h"
#include "catalog/filter.h"
#include "catalog/values.h"
#include "pg/server.h"
#include "catalog/session_options.h"
#include "sql/sql.h"
#include "sql/statements.h"

#include <stdatomic.h>
#include <stdio.h>

/* The statements of these levels; the first has all but the claims of the others. */
static int prepare(struct outbox *outbox, int from, int to, struct error *error)
{
    const struct slice_facts about = {.tables = {&outbox->table, outbox->options},
                                      .routes = outbox->routes,
                                      .sequence = &outbox->sequence};
    struct statement statement;
    int at = 0;

    outbox->prepared = to + 1;
    while (sql_next(&at, &about, &statement))
        if (statement.level >= from && statement.level <= to &&
            session_prepare(&outbox->session, statement.name, sql_statement(&statement, &about),
                            error) < 0)
            return -1;
    return session_read_prepared(&outbox->session, error);
}

static int next_level(const struct outbox *outbox, bool refused)
{
    return refused ? outbox->refused_level : outbox->level;
}

bool outbox_has_prepared(const struct outbox *outbox, bool refused)
{
    return next_level(outbox, refused) < outbox->prepared;
}

int outbox_prepare(struct outbox *outbox, bool refused, struct error *error)
{
    if (outbox_has_prepared(outbox, refused) ||
        prepare(outbox, outbox->prepared, next_level(outbox, refused), error) == 0)
        return 0;
    return session_abort(&outbox->session);
}

/* Checked before the indexes: an index that only seems to be missing because the condition is wrong
 * must not be reported. */
static int check_condition(const struct table *table, struct outbox *outbox, struct error *error)
{
    struct adoption adoption;

    if (adoption_read_note(&adoption, table, &outbox->session, outbox->options, error) < 0)
        return -1;
    return adoption.state == ADOPTION_CONDITION
               ? adoption_explain(&adoption, table, outbox->options, error)
               : 0;
}

/* A column may have been renamed, so its absence is reported; sent_at may also belong to the
 * application. */
static void warn_of_columns(const struct table *table, const struct outbox_options *options)
{
    const struct table_column *id = &table->columns[COLUMN_ID];
    char hint[160];
    struct error unknown;

    for (int i = 0; i < COLUMN_SENT_AT; i++) {
        const struct table_column *column = &table->columns[i];

        if (column->name[0] == '\0' || table_has(table, (enum column)i))
            continue;
        (void)snprintf(hint, sizeof hint, "write %s = \"%s\" in [outbox.columns]",
                       column_name((enum column)i), column->offer);
        log_event(LOG_WARN, LOG_FIELDS(.hint = column->offer[0] != '\0' ? hint : NULL),
                  "table %s has no column \"%s\": its messages are sent without it%s%s",
                  table->quoted, column->name,
                  column->offer[0] != '\0' ? "; it may be column " : "", column->offer);
    }
    if (!id->not_null && !table->numbered)
        log_warn("column %s (id) of %s may be NULL: a row without an id is never sent", id->quoted,
                 table->quoted);
    if (options->on_sent == ON_SENT_DELETE && table_has(table, COLUMN_SENT_AT))
        log_warn("rows of table %s whose %s is set count as sent, although on_sent is \"delete\"",
                 table->quoted, table->columns[COLUMN_SENT_AT].quoted);
    if (outbox_keeps_sent(options) && options->retention_ms > 0 &&
        table_has(table, COLUMN_SENT_AT) && table_check_sent(table, &unknown) < 0)
        log_event(LOG_WARN, LOG_FIELDS(.hint = unknown.hint), "%s", unknown.text);
}

/* As check does: messages would carry a time that is hours away from the true one. */
static int warn_of_zone(const struct table *table, const struct outbox_options *options,
                        struct session *session, struct error *error)
{
    const struct table_column *created_at = &table->columns[COLUMN_CREATED_AT];
    PGresult *zones;
    char hint[160];

    if (options->time_zone != NULL || !zone_is_lacking(created_at))
        return 0;
    zones = session_query(session, sql_body(statement_other_zones), 0, NULL, error);
    if (zones == NULL)
        return -1;
    (void)snprintf(hint, sizeof hint,
                   "write time_zone = \"%s\", or the zone in which the application writes, in"
                   " [outbox]",
                   PQgetvalue(zones, 0, 1));
    if (!PQgetisnull(zones, 0, 0))
        log_event(LOG_WARN, LOG_FIELDS(.hint = hint),
                  "column %s (created_at) of %s has no time zone, and is read as UTC, but sessions"
                  " of this database have TimeZone %s",
                  created_at->quoted, table->quoted, PQgetvalue(zones, 0, 0));
    PQclear(zones);
    return 0;
}

/* outbox->table stays the last description that passed all checks. */
static int describe(struct outbox *outbox, struct error *error)
{
    struct table table = {0};
    struct adoption adoption;
    static atomic_flag warned = ATOMIC_FLAG_INIT; /* a process has one outbox */

    if (describe_table(&table, &outbox->session, outbox->options, error) < 0 ||
        filter_try_index(&table, &outbox->session, error) < 0 ||
        values_try_index(&table, &outbox->session, outbox->options, error) < 0 ||
        describe_check_whole(&table, outbox->options, error) < 0 ||
        check_condition(&table, outbox, error) < 0 ||
        describe_check_usable(&table, &outbox->session, outbox->options, error) < 0 ||
        describe_check_unchanged(&table, &outbox->table, error) < 0 ||
        sequence_describe(&outbox->sequence, &outbox->session, &table, error) < 0 ||
        adoption_settle(&adoption, &table, &outbox->session, outbox->options, error) < 0) {
        table_name_holders(&table, &outbox->session, error);
        return -1;
    }
    outbox->table = table;
    outbox->session.computes_values = table.is_computed;
    outbox->payload_is_json = table_payload_is_json(&table);
    if (atomic_flag_test_and_set(&warned))
        return 0;
    warn_of_columns(&table, outbox->options);
    return warn_of_zone(&table, outbox->options, &outbox->session, error);
}

static int connect_session(struct outbox *outbox, struct error *error)
{
    struct session_options session = outbox_session_options(outbox->options);

    outbox->connections++;
    outbox->known_token = 0;
    outbox->durable_before = 0;
    if (session_open(&outbox->session, &session, outbox->name, error) < 0)
        return -1;
    if (server_check_role(&outbox->session, outbox->options->allow_superuser, error) < 0 ||
        server_check_identity(&outbox->server, &outbox->session, error) < 0 ||
        server_terminate_previous(&outbox->session, error) < 0)
        return session_abort(&outbox->session);
    server_log_unconfirmed_commit(&outbox->server, &outbox->session);
    if (describe(outbox, error) < 0 || (outbox->options->order == ORDER_KEY &&
                                        session_force_generic_plans(&outbox->session, error) < 0))
        return session_abort(&outbox->session);
    slice_lock_connecting(outbox->slices);
    if (prepare(outbox, 0, outbox->level, error) < 0 || position_settle(outbox, error) < 0)
        return session_abort(&outbox->session);
    outbox->numbers_due_ms = 0;
    slice_lock_connected(outbox->slices);
    return 0;
}

int outbox_ready(struct outbox *outbox, struct error *error)
{
    if (outbox->session.conn == NULL && connect_session(outbox, error) < 0)
        return -1;
    return refused_note_killer(outbox, error);
}
