/* The parameters of the statements that settle rows, and how these are run. */
#include "mysql/settle.h"
#include "mysql/statements.h"
#include "source/pauses.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RELEASE_MAX 1000

void settle_keep_failure(struct batch *batch, const char *text)
{
    const char *copy = batch_copy(batch, text, strlen(text)).data;

    batch->park_failure = copy != NULL ? copy : "out of memory";
}

/* ---- parameters, which are JSON ---- */

/* Of a parked row, and of a note, its seq; else its id. */
static void put_number(FILE *out, const struct message *message, bool by_seq)
{
    if (by_seq)
        (void)fprintf(out, "%" PRId64, message->note);
    else
        (void)fprintf(out, "%.*s", (int)message->id.len, message->id.data);
}

static void put_text(FILE *out, const char *name, struct text text)
{
    size_t size = 6 * text.len + 1;
    char *escaped = malloc(size);

    if (escaped != NULL)
        (void)fprintf(out, ",\"%s\":\"%s\"", name,
                      text_escape_json(escaped, size, text.data, text.len));
    free(escaped);
}

static const char *state_of(const struct message *message, enum settle what)
{
    static const struct text paused = {PAUSED_PREFIX, sizeof PAUSED_PREFIX - 1};
    struct text waits_for = message->waits_for;

    if (what == SETTLE_NOTE)
        return message->is_sent ? "unsettled" : "refused";
    if (message->outcome == OUTCOME_BEHIND)
        return "behind";
    if (message->outcome == OUTCOME_DEAD)
        return "dead";
    if (waits_for.data == NULL)
        return "retry";
    return waits_for.len >= paused.len && memcmp(waits_for.data, paused.data, paused.len) == 0
               ? "paused"
               : "waiting";
}

/* Whether an earlier row of these waits for the same: that one is the probe. */
static bool has_probe(struct rows rows, int at)
{
    for (int i = 0; i < at; i++)
        if (rows.messages[i]->outcome == OUTCOME_PARK && rows.messages[i]->waits_for.data != NULL &&
            text_equal(rows.messages[i]->waits_for, rows.messages[at]->waits_for))
            return true;
    return false;
}

static void put_given(FILE *out, struct rows rows, int at, enum settle what, bool by_seq)
{
    const struct message *message = rows.messages[at];
    const char *reason = message->parked_reason != NULL ? message->parked_reason : message->reason;
    bool waits =
        what == SETTLE_PARK && message->outcome == OUTCOME_PARK && message->waits_for.data != NULL;

    (void)fputs("{\"i\":", out);
    put_number(out, message, by_seq);
    (void)fprintf(out, ",\"s\":\"%s\",\"a\":%d", state_of(message, what), message->attempts);
    if (what == SETTLE_NOTE ||
        (message->outcome == OUTCOME_PARK && !(waits && has_probe(rows, at))))
        (void)fprintf(out, ",\"w\":%" PRId64, message->retry_ms);
    if (waits)
        put_text(out, "d", message->waits_for);
    if (what == SETTLE_PARK && message->created_us > 0)
        (void)fprintf(out, ",\"c\":%" PRId64, message->created_us);
    if (what == SETTLE_NOTE && message->topic.data != NULL)
        put_text(out, "t", message->topic);
    put_text(out, "e", text_of(reason != NULL ? reason : ""));
    (void)fputc('}', out);
}

/* Of the rows from *at on, as many as a statement has room for; moves *at behind them. free() it.
 * NULL: no memory. */
static char *pack(struct rows rows, int *at, enum settle what, bool is_given, bool by_seq)
{
    int first = *at;
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fputc('[', writer.out);
    for (; *at < rows.count && ftell(writer.out) < TABLES_STATEMENT_BYTES; ++*at) {
        (void)fputs(*at == first ? "" : ",", writer.out);
        if (is_given)
            put_given(writer.out, rows, *at, what, by_seq);
        else
            put_number(writer.out, rows.messages[*at], by_seq);
    }
    (void)fputc(']', writer.out);
    return writer_end(&writer);
}

/* ---- the statements ---- */

int settle_keep(struct outbox *outbox, struct error *error)
{
    return db_execute(&outbox->session, "SAVEPOINT relay", error) < 0 ? -1 : 0;
}

/* Returns 0, or -1 when the transaction or the session is lost. */
static int go_back(struct outbox *outbox, struct error *error)
{
    return db_execute(&outbox->session, "ROLLBACK TO SAVEPOINT relay", error) < 0 ? -1 : 0;
}

/* One statement, which must affect that many rows. Returns as settle_try() does, but goes not back.
 */
static int run(struct outbox *outbox, enum prepared statement, const char *given, int rows,
               struct error *error)
{
    const struct text param = text_of(given);
    int64_t affected = db_run(&outbox->session, statement, &param, 1, error);

    if (affected == rows)
        return 1;
    if (affected < 0)
        return outbox->session.failure == DB_FAILURE_STATEMENT ||
                       outbox->session.failure == DB_FAILURE_LOCKED
                   ? 0
                   : -1;
    (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                    "database: settled %" PRId64 " rows instead of %d", affected, rows);
    error->cause = ERROR_OF_ROW;
    return 0;
}

static int run_all(struct outbox *outbox, const struct batch *batch, enum settle what, int rows,
                   const char *given, struct error *error)
{
    int done;

    switch (what) {
    case SETTLE_SENT:
    case SETTLE_TRIAL:
        return run(outbox, batch->parked ? PREPARED_SENT_PARKED : PREPARED_SENT, given, rows,
                   error);
    case SETTLE_NOTE:
        return run(outbox, batch->refused ? PREPARED_RENOTE : PREPARED_NOTE, given, rows, error);
    case SETTLE_END_NOTES:
        return run(outbox, PREPARED_END_NOTES, given, rows, error);
    case SETTLE_PARK:
        break;
    }
    if (batch->parked)
        return run(outbox, PREPARED_PARK_AGAIN, given, rows, error);
    done = run(outbox, PREPARED_PARK, given, rows, error);
    return done > 0 ? run(outbox, PREPARED_TAKE, given, rows, error) : done;
}

int settle_try(struct outbox *outbox, struct batch *batch, enum settle what, struct rows rows,
               struct error *error)
{
    bool is_given = what == SETTLE_PARK || what == SETTLE_NOTE;
    bool by_seq =
        batch->parked || (batch->refused && (what == SETTLE_NOTE || what == SETTLE_END_NOTES));
    struct error other;
    int at = 0;
    int done;

    do {
        int first = at;
        char *given = pack(rows, &at, what, is_given, by_seq);

        if (given == NULL)
            return error_no_memory(error);
        done = run_all(outbox, batch, what, at - first, given, error);
        free(given);
    } while (done > 0 && at < rows.count);
    if (done < 0 || (done > 0 && what != SETTLE_TRIAL))
        return done;
    if (go_back(outbox, &other) == 0)
        return done;
    *error = other;
    return -1;
}

/* ---- what has waited ---- */

char *settle_pack_first(MYSQL_RES *rows)
{
    struct writer writer;
    const char *divider = "";
    MYSQL_ROW row;

    if (!writer_begin(&writer))
        return NULL;
    (void)fputc('[', writer.out);
    while ((row = mysql_fetch_row(rows)) != NULL)
        if (row[0] != NULL) {
            (void)fprintf(writer.out, "%s%s", divider, row[0]);
            divider = ",";
        }
    (void)fputc(']', writer.out);
    return writer_end(&writer);
}

/* Makes the rows due whose seq the answer has. Returns how many; -1. */
static int64_t make_due(const struct tables *tables, struct db_session *session, MYSQL_RES *rows,
                        struct error *error)
{
    char *list = settle_pack_first(rows);
    char *sql = tables_statement(tables, db_sql_make_due, NULL);
    const struct text param = text_of(list != NULL ? list : "");
    int64_t made = 0;

    if (list == NULL || sql == NULL)
        made = error_no_memory(error);
    else if (mysql_num_rows(rows) > 0)
        made = db_run_once(session, sql, &param, 1, error);
    free(sql);
    free(list);
    return made;
}

static int64_t release_by(const struct tables *tables, struct db_session *session,
                          const char *statement, const struct sql_fact *facts, struct error *error)
{
    MYSQL_RES *rows = tables_query(tables, session, statement, facts, error);
    int64_t made;

    if (rows == NULL)
        return -1;
    made = make_due(tables, session, rows, error);
    mysql_free_result(rows);
    return made;
}

int64_t settle_adopt(const struct tables *tables, struct db_session *session, struct error *error)
{
    return release_by(tables, session, db_sql_adopt_behind, NULL, error);
}

static int release_found(struct outbox *outbox, const char *statement, const struct sql_fact *facts,
                         struct error *error)
{
    return release_by(&outbox->tables, &outbox->session, statement, facts, error) < 0 ? -1 : 0;
}

/* Of the keys of the rows from *at on, of which there is one. */
static int release_some(struct outbox *outbox, struct rows rows, int *at, struct error *error)
{
    int first = *at;
    struct writer writer;
    char *keys;
    int status;

    if (!writer_begin(&writer))
        return error_no_memory(error);
    for (; *at < rows.count && ftell(writer.out) < TABLES_STATEMENT_BYTES; ++*at) {
        struct text key = rows.messages[*at]->key;

        (void)fputs(*at == first ? "[\"" : "\",\"", writer.out);
        for (size_t i = 0; i < key.len; i++)
            (void)fprintf(writer.out, "%02x", (unsigned char)key.data[i]);
    }
    (void)fputs("\"]", writer.out);
    keys = writer_end(&writer);
    if (keys == NULL)
        return error_no_memory(error);
    const struct sql_fact given[] = {{"keys", .text = keys}, {.name = NULL}};

    status = release_found(outbox, db_sql_next_of_keys, given, error);
    free(keys);
    return status;
}

int release_next(struct outbox *outbox, struct rows rows, struct error *error)
{
    int at = 0;
    int status = 0;

    while (status == 0 && at < rows.count)
        status = release_some(outbox, rows, &at, error);
    return status;
}

static int release_one(struct outbox *outbox, struct text reached, struct error *error)
{
    char *literal = tables_literals(&reached.data, 1);
    char max[12];
    const struct sql_fact facts[] = {
        {"reached", .text = literal}, {"release_max", .text = max}, {.name = NULL}};
    int status;

    if (literal == NULL)
        return error_no_memory(error);
    (void)snprintf(max, sizeof max, "%d", RELEASE_MAX);
    status = release_found(outbox, db_sql_waiting, facts, error);
    free(literal);
    return status;
}

/* Whether the row has left what it waited for, even if it failed again for another reason. */
static bool has_reached(const struct message *message, struct text waited_for)
{
    return waited_for.data != NULL &&
           (message->outcome == OUTCOME_SENT || message->outcome == OUTCOME_DEAD ||
            (message->outcome == OUTCOME_PARK && !text_equal(message->waits_for, waited_for)));
}

int release_waiting(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct text last = {NULL, 0};

    for (int i = 0; i < batch->count && outbox->waited_for != NULL; i++) {
        struct text waited_for = outbox->waited_for[i];

        if (!has_reached(&batch->messages[i], waited_for) || text_equal(waited_for, last))
            continue;
        last = waited_for;
        if (release_one(outbox, last, error) < 0)
            return -1;
    }
    return 0;
}
