/*
 * An existing table may contain rows that another program has sent already, and that it marks in a
 * column unknown to the relay. So the relay sends nothing from a table that it did not create until
 * the operator has confirmed it. The rules:
 *
 * A table that `init` created has its comment.
 *
 * A decision is kept as a setting in the control table, which every relay can write and pg_dump
 * saves: the condition by which rows are sent. Relays with another condition are refused: parked
 * rows are shared and have only the mapped columns, so it would be unknown to which condition they
 * belong. So are relays with another order or key, which would pass the waiting rows of a key. That
 * is a setting of its own, which older relays do not read.
 *
 * A table with no row to send is adopted by the first relay that finds it so, because rows that are
 * committed later are meant for the relay. What was marked as sent before is never the relay's
 * (the statements of sent rows).
 *
 * In all other cases the operator has to confirm with `adopt = true`. To change the condition of a
 * table the operator deletes the setting; then everything is decided again.
 */
#include "catalog/adoption.h"

#include "base/log.h"
#include "catalog/filter.h"
#include "catalog/sql_text.h"
#include "catalog/facts.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_ROW(name) "kind = 'setting' AND name = '" name "'"

#define BY_POSITION "the rows of a slice are sent up to its position"

static void add_note(char *note, size_t size, const char *what, const char *sql)
{
    size_t len = strlen(note);

    if (sql != NULL && len < size)
        (void)snprintf(note + len, size - len, ", %s %s", what, sql);
}

/* Writes the condition by which rows are sent, and what computes their mark and their key. */
static int make_note(char *note, size_t size, const struct table *table,
                     const struct outbox_options *options, struct error *error)
{
    char *text;

    if (options->on_sent == ON_SENT_POSITION) {
        (void)snprintf(note, size, "%s", BY_POSITION);
        return 0;
    }
    text = table_sql(table, "{unsent}");
    if (text == NULL)
        return error_no_memory(error);
    if (strcmp(text, "true") == 0)
        (void)snprintf(note, size, "all rows are sent");
    else
        (void)snprintf(note, size, "rows are sent WHERE %s", text);
    free(text);
    add_note(note, size, "marked by SET", table->mark);
    add_note(note, size, "parked by SET", table->park);
    add_note(note, size, "with the key", table->columns[COLUMN_KEY].expression);
    return 0;
}

/* A key that the table has not yet may come later. The condition has the whole of an expression. */
static void put_order(char *order, size_t size, const struct table *table,
                      const struct outbox_options *options)
{
    const struct table_column *key = &table->columns[COLUMN_KEY];
    bool has_key = key->name[0] != '\0' || key->expression != NULL;

    (void)snprintf(order, size, "order = \"%s\" %s%.140s",
                   options->order == ORDER_KEY ? "key" : "none",
                   has_key ? "with the key " : "without a key", has_key ? column_sql(key) : "");
}

/* *count is -1 when counting took too long, which is not an error. */
static int count_rows(const struct table *table, struct session *session, int64_t *count,
                      struct error *error)
{
    char limit[16];
    const char *params[1] = {limit};
    PGresult *result;

    (void)snprintf(limit, sizeof limit, "%d", ADOPTION_COUNT_MAX + 1);
    result = table_query(table, session, statement_rows_to_send, 1, params, error);
    *count = result != NULL ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : -1;
    if (result == NULL && (session->conn == NULL || !error_is_sqlstate(error, "57014"))) {
        filter_name_error(table, error);
        return -1;
    }
    PQclear(result);
    return 0;
}

#define MARKS_SHOWN 5

static int find_marks(struct adoption *adoption, const struct table *table, struct session *session,
                      struct error *error)
{
    const char *mapped[COLUMN_COUNT];
    const char *params[1];
    size_t used = 0;
    PGresult *result;
    char *array;
    int count = 0;

    for (int i = 0; i < COLUMN_COUNT; i++)
        if (table_has(table, (enum column)i))
            mapped[count++] = table->columns[i].name;
    array = sql_text_array(mapped, count);
    if (array == NULL)
        return error_no_memory(error);
    params[0] = array;
    result = table_query(table, session, statement_sent_marks, 1, params, error);
    free(array);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result) && used < sizeof adoption->marks; row++) {
        const char *mark = row < MARKS_SHOWN ? PQgetvalue(result, row, 0) : "...";

        used += (size_t)snprintf(adoption->marks + used, sizeof adoption->marks - used, "%s%s",
                                 row > 0 ? ", " : "", mark);
    }
    PQclear(result);
    return 0;
}

static bool condition_differs(const struct adoption *adoption)
{
    return adoption->noted && strcmp(adoption->note, adoption->wanted) != 0;
}

int adoption_read_note(struct adoption *adoption, const struct table *table,
                       struct session *session, const struct outbox_options *options,
                       struct error *error)
{
    PGresult *result;

    *adoption = (struct adoption){.state = ADOPTION_SETTLED};
    put_order(adoption->wanted_order, sizeof adoption->wanted_order, table, options);
    if (make_note(adoption->wanted, sizeof adoption->wanted, table, options, error) < 0)
        return -1;
    if (!table->control_exists)
        return 0;
    result =
        table_query(table, session,
                    "SELECT (SELECT value FROM {control} WHERE " NOTE_ROW(
                        "condition") "), (SELECT value FROM {control} WHERE " NOTE_ROW("order") ")",
                    0, NULL, error);
    if (result == NULL)
        return -1;
    adoption->noted = !PQgetisnull(result, 0, 0);
    (void)snprintf(adoption->note, sizeof adoption->note, "%s", PQgetvalue(result, 0, 0));
    (void)snprintf(adoption->order, sizeof adoption->order, "%s", PQgetvalue(result, 0, 1));
    PQclear(result);
    if (condition_differs(adoption) ||
        (adoption->order[0] != '\0' && strcmp(adoption->order, adoption->wanted_order) != 0))
        adoption->state = ADOPTION_CONDITION;
    return 0;
}

int adoption_examine(struct adoption *adoption, const struct table *table, struct session *session,
                     const struct outbox_options *options, struct error *error)
{
    if (adoption_read_note(adoption, table, session, options, error) < 0)
        return -1;
    if (adoption->noted || adoption->state == ADOPTION_CONDITION || table->is_own)
        return 0;
    if (count_rows(table, session, &adoption->to_send, error) < 0)
        return -1;
    if (adoption->to_send == 0) {
        adoption->state = ADOPTION_NO_ROWS;
        return 0;
    }
    adoption->state = ADOPTION_OPEN;
    return find_marks(adoption, table, session, error);
}

static const char *number(char out[64], int64_t rows)
{
    if (rows < 0)
        (void)snprintf(out, 64, "rows whose number took too long to count");
    else if (rows > ADOPTION_COUNT_MAX)
        (void)snprintf(out, 64, "more than %d rows", ADOPTION_COUNT_MAX);
    else
        (void)snprintf(out, 64, "%" PRId64 " row%s", rows, PLURAL(rows));
    return out;
}

/* Two relays of a table do not agree. */
static int explain_difference(const struct adoption *adoption, const struct table *table,
                              struct error *error)
{
    if (!condition_differs(adoption)) {
        (void)error_set(
            error, ERROR_PERMANENT, ERROR_DATABASE,
            "[outbox] order: table %s is relayed by another order or key: %s, not %s; all"
            " relays of a table must have the same, because a row waits for those of"
            " its key",
            table->quoted, adoption->order, adoption->wanted_order);
        return error_hint(
            error,
            "to change it: stop the relays of this table, DELETE FROM %s WHERE " NOTE_ROW(
                "order") "; and start them with the new order",
            table->control_quoted);
    }
    (void)error_set(
        error, ERROR_PERMANENT, ERROR_DATABASE,
        "[outbox] where: table %s is relayed by another condition: \"%.200s\", not"
        " \"%.200s\" (on_sent, sent_at, mark, park and an expression as key count too); all relays"
        " of a table must have the same one, because they share its parked rows",
        table->quoted, adoption->note, adoption->wanted);
    if (strcmp(adoption->note, BY_POSITION) == 0)
        return error_hint(
            error, "to change it: stop the relays of this table, run what `outbox-relay sql"
                   " position_leave` prints with the old configuration, and start them anew");
    return error_hint(
        error,
        "to change it: stop the relays of this table, DELETE FROM %s WHERE " NOTE_ROW(
            "condition") "; and start them with the new condition and [outbox] adopt = true",
        table->control_quoted);
}

int adoption_explain(const struct adoption *adoption, const struct table *table,
                     const struct outbox_options *options, struct error *error)
{
    bool mark = outbox_keeps_sent(options);
    char to_send[64];

    if (adoption->state == ADOPTION_CONDITION)
        return explain_difference(adoption, table, error);
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "table %s was not created by outbox-relay: %s would be sent and %s%s%s",
                    table->quoted, number(to_send, adoption->to_send), mark ? "marked" : "deleted",
                    adoption->marks[0] != '\0' ? "; columns that may mark rows as sent: " : "",
                    adoption->marks);
    return error_hint(error, "set [outbox] adopt = true if all these rows are meant for the relay;"
                             " [outbox] where = \"...\" excludes other rows");
}

/* Of two relays that start at the same time the first one writes its condition. If it cannot be
 * written, adopt = true in the configuration takes its place. The relay's own table without a
 * condition needs none: all its rows are sent. */
static int remember(const struct adoption *adoption, const struct table *table,
                    struct session *session, const struct outbox_options *options,
                    struct error *error)
{
    const char *params[2] = {adoption->wanted, adoption->wanted_order};
    PGresult *result = table_query(table, session, statement_remember_condition, 2, params, error);

    if (result != NULL) {
        PQclear(result);
        return 0;
    }
    if (error->kind != ERROR_PERMANENT)
        return -1;
    if (adoption->noted || (adoption->state == ADOPTION_SETTLED && table->where == NULL))
        return 0;
    if (!options->adopt)
        return error_hint(error,
                          "set [outbox] adopt = true: the adoption of %s cannot be recorded in"
                          " %s",
                          table->quoted, table->control_quoted);
    log_event(LOG_WARN, LOG_FIELDS(.error = error->text),
              "keep [outbox] adopt = true: the adoption of %s cannot be recorded in %s",
              table->quoted, table->control_quoted);
    return 0;
}

int adoption_settle(struct adoption *adoption, const struct table *table, struct session *session,
                    const struct outbox_options *options, struct error *error)
{
    if (adoption_examine(adoption, table, session, options, error) < 0)
        return -1;
    if (adoption->state == ADOPTION_CONDITION ||
        (adoption->state == ADOPTION_OPEN && !options->adopt))
        return adoption_explain(adoption, table, options, error);
    if (adoption->noted && adoption->order[0] != '\0')
        return 0;
    if (remember(adoption, table, session, options, error) < 0 ||
        adoption_read_note(adoption, table, session, options, error) < 0)
        return -1;
    return adoption->state == ADOPTION_CONDITION ? adoption_explain(adoption, table, options, error)
                                                 : 0;
}
