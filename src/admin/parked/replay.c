/*
 * Rows are read in the order of their ids, a few thousand per step, so that the time of a statement
 * does not grow with the table. Each step commits, so copied rows are sent even if a later step
 * fails.
 */
#include "admin/parked/replay.h"

#include "admin/admin_session.h"
#include "admin/parked/parked_sql.h"
#include "admin/parked/pause.h"
#include "base/text.h"
#include "catalog/describe.h"
#include "catalog/sql_text.h"
#include "pg/holders.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The parameters of replay.sql. */
enum replay_param {
    REPLAY_LOW,
    REPLAY_SINCE,
    REPLAY_UNTIL,
    REPLAY_TOPIC,
    REPLAY_REGEX,
    REPLAY_IDS,
    REPLAY_LIMIT,
    REPLAY_KEYS,
    REPLAY_PARAMS
};

struct replay {
    struct admin *admin;
    const struct replay_request *request;
    char *ids;   /* an array; NULL: rows are chosen by topic and time */
    char *keys;  /* the same rows by their keys */
    char *regex; /* for the topic; NULL: the topic is exact, or any */
    char *low;   /* the last id that was read; NULL: none yet */
    char *last;  /* the last id that was copied; NULL: none yet */
    char since[64];
    char until[64];
    bool done;
};

static int check_outbox(struct admin *admin, struct error *error)
{
    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    if (admin->options->on_sent == ON_SENT_MARK && table_check_sent(&admin->table, error) < 0)
        return -1;
    /* A copy in the parked table would count as a sign that a relay has used the outbox. */
    if (admin->options->on_sent == ON_SENT_MARK)
        return admin_foresee_adoption(admin, error) == 0 ? 0 : -1;
    (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                    "replay needs on_sent = \"mark\": with \"delete\" sent rows do not exist any"
                    " more");
    return error_hint(error, "set [outbox] on_sent = \"mark\"; rows sent from then on can be"
                             " replayed until the retention ends");
}

static int find_moments(struct replay *replay, struct error *error)
{
    PGresult *result =
        parked_query_since(replay->admin, statement_replay_moments, replay->request->since, error);

    if (result == NULL)
        return -1;
    (void)snprintf(replay->since, sizeof replay->since, "%s", PQgetvalue(result, 0, 0));
    (void)snprintf(replay->until, sizeof replay->until, "%s", PQgetvalue(result, 0, 1));
    PQclear(result);
    return 0;
}

/* Whether all words are integers, so that the index on an integer id can be used. */
static bool words_are_ids(const struct replay *replay)
{
    bool integers = table_has_integer_ids(&replay->admin->table);

    for (int i = 0; i < replay->request->id_count && integers; i++) {
        const char *word = replay->request->ids[i];
        size_t len = strlen(word);

        word += *word == '-';
        integers = len <= 18 && *word != '\0' && strspn(word, "0123456789") == strlen(word);
    }
    return integers;
}

/* Ids that name no row, or one that names several. */
static int refuse_ids(const char *words, struct error *error)
{
    char safe[512];

    (void)text_escape(safe, sizeof safe, words, strlen(words));
    if (words[0] != '"')
        return error_set(error, ERROR_PERMANENT, ERROR_SELF, "%s; nothing was done", safe);
    return error_set(error, ERROR_PERMANENT, ERROR_SELF,
                     "no row that has been sent has the id %s: nothing was done", safe);
}

static int find_ids(struct replay *replay, struct error *error)
{
    const struct replay_request *request = replay->request;
    char *words = sql_text_array(request->ids, request->id_count);
    char *events =
        request->is_repair ? sql_text_array(request->event_ids, request->id_count) : NULL;
    const char *params[2] = {words, events};
    PGresult *result = NULL;
    int status = -1;

    if (words != NULL && (events != NULL || !request->is_repair))
        result = parked_query(
            replay->admin, request->is_repair ? statement_repair_ids : statement_replay_ids,
            words_are_ids(replay) ? "numbers" : NULL, request->is_repair ? 2 : 1, params, error);
    else
        (void)error_no_memory(error);
    free(words);
    free(events);
    if (result == NULL)
        return -1;
    if (!PQgetisnull(result, 0, 0))
        (void)refuse_ids(PQgetvalue(result, 0, 0), error);
    else if ((replay->ids = strdup(PQgetvalue(result, 0, 1))) == NULL ||
             (replay->keys = strdup(PQgetvalue(result, 0, 2))) == NULL)
        (void)error_no_memory(error);
    else
        status = 0;
    PQclear(result);
    return status;
}

struct replay *admin_replay_open(struct admin *admin, const struct replay_request *request,
                                 struct error *error)
{
    struct replay *replay = NULL;

    if (check_outbox(admin, error) < 0)
        return NULL;
    replay = calloc(1, sizeof *replay);
    if (replay == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    replay->admin = admin;
    replay->request = request;
    if (find_moments(replay, error) == 0 &&
        (request->id_count == 0 || find_ids(replay, error) == 0) &&
        (request->topic == NULL || parked_topic_regex(request->topic, &replay->regex) == 0 ||
         error_no_memory(error) == 0))
        return replay;
    admin_replay_close(replay);
    return NULL;
}

void admin_replay_close(struct replay *replay)
{
    if (replay == NULL)
        return;
    free(replay->ids);
    free(replay->keys);
    free(replay->regex);
    free(replay->low);
    free(replay->last);
    free(replay);
}

static PGresult *ask(const struct replay *replay, bool dry_run, int limit, struct error *error)
{
    char rows[16];
    const char *params[REPLAY_PARAMS] = {
        [REPLAY_LOW] = replay->low,
        [REPLAY_SINCE] = replay->since[0] != '\0' ? replay->since : NULL,
        [REPLAY_UNTIL] = replay->until,
        [REPLAY_TOPIC] = replay->regex == NULL ? replay->request->topic : NULL,
        [REPLAY_REGEX] = replay->regex,
        [REPLAY_IDS] = replay->ids,
        [REPLAY_LIMIT] = rows,
        [REPLAY_KEYS] = replay->keys};

    (void)snprintf(rows, sizeof rows, "%d", limit);
    return parked_query(replay->admin, statement_replay, dry_run ? NULL : "changed", REPLAY_PARAMS,
                        params, error);
}

/* Replaces *kept, unless the value is NULL. */
static int keep(char **kept, const PGresult *result, int column, struct error *error)
{
    char *text;

    if (PQgetisnull(result, 0, column))
        return 0;
    text = strdup(PQgetvalue(result, 0, column));
    if (text == NULL)
        return error_no_memory(error);
    free(*kept);
    *kept = text;
    return 0;
}

int64_t admin_replay_count(struct replay *replay, const struct replay_rows *rows,
                           struct error *error)
{
    int64_t total = 0;
    bool more = true;

    while (more) {
        PGresult *result = ask(replay, true, REPLAY_LOOKED_ROWS, error);

        if (result == NULL)
            return -1;
        for (int row = 0; row < PQntuples(result) && total == 0 && rows != NULL; row++)
            if (!PQgetisnull(result, row, 3))
                rows->on_row(rows->closure, PQgetvalue(result, row, 3), PQgetvalue(result, row, 4),
                             PQgetvalue(result, row, 5));
        total += strtoll(PQgetvalue(result, 0, 0), NULL, 10);
        more = !PQgetisnull(result, 0, 1);
        if (keep(&replay->low, result, 1, error) < 0)
            more = false;
        PQclear(result);
    }
    free(replay->low);
    replay->low = NULL;
    return total;
}

/* Two concurrent replays would give their copies the same numbers. */
int admin_replay_step(struct replay *replay, int limit, struct error *error)
{
    struct session *session = &replay->admin->session;
    struct error ignored;
    PGresult *result = NULL;
    int count;

    if (session_execute(session, "BEGIN", error) == 0 &&
        holders_lock_advisory(session, "7246113", "2", error) == 0)
        result = ask(replay, false, limit, error);
    if (result == NULL || session_execute(session, "COMMIT", error) < 0) {
        PQclear(result);
        if (session->conn != NULL)
            (void)session_execute(session, "ROLLBACK", &ignored);
        return -1;
    }
    count = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
    replay->done = PQgetisnull(result, 0, 1);
    if (keep(&replay->low, result, 1, error) < 0 || keep(&replay->last, result, 2, error) < 0)
        count = -1;
    PQclear(result);
    return count;
}

/* A transaction that settled the previous row of a key while its copy was made has not seen the
 * copy, and so has not made it due. */
int admin_replay_finish(struct replay *replay, struct error *error)
{
    struct admin *admin = replay->admin;

    if (!sql_keeps_order(&admin->table, admin->options))
        return 0;
    return admin_wait_for_claims(admin, error) < 0 ? -1 : admin_adopt_waiting(admin, error);
}

bool admin_replay_is_done(const struct replay *replay)
{
    return replay->done;
}

const char *admin_replay_last_id(const struct replay *replay)
{
    return replay->last != NULL ? replay->last : "";
}
