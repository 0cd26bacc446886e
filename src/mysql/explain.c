/* explain: rows as a claim reads them, in a transaction that only reads. */
#include "mysql/admin.h"

#include "base/text.h"
#include "mysql/statements.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The columns behind those of a claim. */
enum { OF_OUTBOX = 12, OF_PARKED = 16 };
enum { OF_STATE, OF_ERROR, OF_BLOCKED };

/* Which of the ids the rows have; *found has one entry each. */
static void note_found(const struct explain_request *request, const struct message *message,
                       bool *found)
{
    for (int i = 0; i < request->id_count; i++)
        if (text_equal(message->id, text_of(request->ids[i])) ||
            text_equal(message->event_id, text_of(request->ids[i])))
            found[i] = true;
}

struct explaining {
    struct admin *admin;
    const struct explain_request *request;
    const struct explain_reader *reader;
    bool found[EXPLAIN_ROWS_MAX];
};

/* The rows in the order of their ids. */
static int read_rows(struct explaining *explaining, bool parked, const char *words,
                     struct error *error)
{
    struct admin *admin = explaining->admin;
    const struct explain_request *request = explaining->request;
    char limit[16], payload_max[24];
    const struct sql_fact facts[] = {
        {words != NULL ? "words" : "", .text = words},
        {request->where != NULL ? "asked" : "", .text = request->where},
        {"limit", .text = limit},
        {"payload_max", .text = payload_max},
        {.name = NULL}};
    struct batch batch;
    MYSQL_RES *rows;

    (void)snprintf(limit, sizeof limit, "%d",
                   request->id_count > 0 ? EXPLAIN_ROWS_MAX : request->last);
    (void)snprintf(payload_max, sizeof payload_max, "%" PRId64, explaining->reader->payload_max);
    rows = tables_query(&admin->tables, &admin->session,
                        parked ? db_sql_explain_parked : db_sql_explain, facts, error);
    if (rows == NULL)
        return -1;
    if (batch_init(&batch, 1) < 0) {
        mysql_free_result(rows);
        return error_no_memory(error);
    }
    for (uint64_t i = 0; i < mysql_num_rows(rows); i++) {
        int column = parked ? OF_PARKED : OF_OUTBOX;
        struct explained explained = {.is_parked = parked};
        struct message *message;
        MYSQL_ROW row;

        mysql_data_seek(rows, parked ? i : mysql_num_rows(rows) - 1 - i);
        row = mysql_fetch_row(rows);
        batch_reset(&batch);
        batch.parked = parked;
        message = batch_add(&batch);
        claim_fill(&admin->tables, &batch, message, row, mysql_fetch_lengths(rows));
        if (message->verdict == VERDICT_EARLY)
            message->verdict = VERDICT_PENDING;
        explained.state = row[column + OF_STATE];
        explained.error = row[column + OF_ERROR];
        message->blocked = !parked && strcmp(row[column + OF_BLOCKED], "1") == 0;
        if (strcmp(explained.state, "unsettled") == 0) { /* a claim would only settle it */
            message->verdict = VERDICT_SENT;
            message->blocked = false;
            message->due_ms = 0;
        }
        note_found(request, message, explaining->found);
        explaining->reader->on_row(explaining->reader->closure, &explained, &batch);
    }
    batch_free(&batch);
    mysql_free_result(rows);
    return 0;
}

static int check_found(const struct explaining *explaining, struct error *error)
{
    char safe[256];

    for (int i = 0; i < explaining->request->id_count; i++)
        if (!explaining->found[i])
            return error_set(error, ERROR_PERMANENT, ERROR_SELF,
                             "no row, unsent, sent or parked, has id \"%s\"",
                             text_escape(safe, sizeof safe, explaining->request->ids[i],
                                         strlen(explaining->request->ids[i])));
    return 0;
}

/* The fault of --where is the user's. */
static int blame(const struct explain_request *request, struct error *error)
{
    const struct error cause = *error;

    if (request->where != NULL && cause.kind == ERROR_PERMANENT)
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "--where: %s",
                        error_bare_text(&cause));
    return -1;
}

int admin_explain(struct admin *admin, const struct routes *routes,
                  const struct explain_request *request, const struct explain_reader *reader,
                  struct error *error)
{
    struct explaining explaining = {.admin = admin, .request = request, .reader = reader};
    char *words = request->id_count > 0 ? tables_literals(request->ids, request->id_count) : NULL;
    int status;

    (void)routes;
    if (request->where != NULL && strchr(request->where, ';') != NULL)
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                         "--where: it must be one condition, without a semicolon");
    if (request->id_count > 0 && words == NULL)
        return error_no_memory(error);
    if (db_execute(&admin->session, "START TRANSACTION READ ONLY", error) < 0)
        status = -1;
    else if (read_rows(&explaining, false, words, error) < 0)
        status = blame(request, error);
    else
        status = words != NULL && read_rows(&explaining, true, words, error) < 0
                     ? -1
                     : check_found(&explaining, error);
    free(words);
    return status;
}
