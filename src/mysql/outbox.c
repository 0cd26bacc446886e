/* A lane's connection: opened, described and closed. */
#include "base/clock.h"
#include "base/log.h"
#include "mysql/settle.h"
#include "mysql/statements.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct outbox *outbox_open(const struct outbox_options *options, const struct routes *routes,
                           const char *name)
{
    int slices = options->order == ORDER_KEY ? options->slices : TABLES_SLICES;
    struct outbox *outbox = calloc(1, sizeof *outbox);
    uint64_t mark;

    if (outbox == NULL)
        return NULL;
    outbox->options = options;
    outbox->routes = routes;
    outbox->name = strdup(name);
    if (getrandom(&mark, sizeof mark, 0) != sizeof mark)
        mark = (uint64_t)clock_now_us();
    (void)snprintf(outbox->mark, sizeof outbox->mark, "outbox-relay/%016" PRIx64, mark);
    if (outbox->name == NULL || choice_init(&outbox->choice, slices) < 0 ||
        away_init(&outbox->away, slices) < 0 || horizon_view_init(&outbox->view, slices) < 0) {
        outbox_close(outbox);
        return NULL;
    }
    /* A claim reads the rows of all slices and takes those of its own: with few of them it would
     * read many in vain. A quarter leaves enough to three others. */
    outbox->choice.busy_width = slices / 4 > 0 ? slices / 4 : 1;
    if (outbox->choice.busy_width > SLICES_PER_CLAIM_MAX)
        outbox->choice.busy_width = SLICES_PER_CLAIM_MAX;
    outbox->choice.width = outbox->choice.busy_width;
    return outbox;
}

static void forget_description(struct outbox *outbox)
{
    db_close(&outbox->session);
    for (int i = 0; i < PREPARED_COUNT; i++) {
        free(outbox->prepared[i]);
        outbox->prepared[i] = NULL;
    }
    tables_free(&outbox->tables);
}

void outbox_close(struct outbox *outbox)
{
    if (outbox == NULL)
        return;
    forget_description(outbox);
    db_end(&outbox->session);
    choice_free(&outbox->choice);
    horizon_view_free(&outbox->view);
    away_free(&outbox->away);
    free(outbox->pauses);
    free(outbox->name);
    free(outbox);
}

int outbox_share(struct outbox *outbox, struct source *source)
{
    outbox->source = source;
    return 0;
}

void outbox_reopen(struct outbox *outbox, const struct outbox_options *options,
                   const struct routes *routes)
{
    outbox_abandon(outbox);
    forget_description(outbox);
    away_begin(&outbox->away, 0);
    horizon_connected(outbox->away.horizon, &outbox->server.identity);
    outbox->options = options;
    outbox->routes = routes;
}

static int make_statements(struct outbox *outbox, struct error *error)
{
    static const char *const texts[PREPARED_COUNT] = {
        [PREPARED_SENT] = db_sql_sent,
        [PREPARED_PARK] = db_sql_park,
        [PREPARED_TAKE] = db_sql_take,
        [PREPARED_PARK_AGAIN] = db_sql_park_again,
        [PREPARED_SENT_PARKED] = db_sql_sent_parked,
        [PREPARED_NOTE] = db_sql_note,
        [PREPARED_RENOTE] = db_sql_renote,
        [PREPARED_END_NOTES] = db_sql_end_notes,
    };

    for (int i = 0; i < PREPARED_COUNT; i++) {
        outbox->prepared[i] = tables_statement(&outbox->tables, texts[i], NULL);
        if (outbox->prepared[i] == NULL)
            return error_no_memory(error);
    }
    outbox->session.texts = (const char *const *)outbox->prepared;
    return 0;
}

/* Without a client the session before this one may still hold its locks: the server would find
 * that out late. It is known by a lock that only this lane's sessions have, because after a restart
 * of the server its number may be that of any other session. */
static void end_previous(struct outbox *outbox)
{
    char sql[96];
    struct error ignored;
    int64_t session;

    (void)snprintf(sql, sizeof sql, "SELECT IS_USED_LOCK('%s')", outbox->mark);
    if (tables_ask(&outbox->tables, &outbox->session, sql, NULL, &session, 1, &ignored) < 0 ||
        session == INT64_MIN)
        return;
    (void)snprintf(sql, sizeof sql, "KILL CONNECTION %" PRId64, session);
    (void)db_execute(&outbox->session, sql, &ignored); /* it has ended, usually */
}

/* Waits for the end of the session before this one, which ends also a COMMIT that was not answered,
 * one way or the other. */
static int take_over(struct outbox *outbox, struct error *error)
{
    char sql[96];
    int64_t has_lock;

    end_previous(outbox);
    (void)snprintf(sql, sizeof sql, "SELECT GET_LOCK('%s', %d)", outbox->mark, DB_LOCK_S);
    if (tables_ask(&outbox->tables, &outbox->session, sql, NULL, &has_lock, 1, error) < 0)
        return -1;
    return has_lock == 1 ? 0
                         : error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                                     "database: the session before this one has not ended yet");
}

/* Logs whether a COMMIT has taken effect whose answer was lost, by the first row that it settled.
 * The session that sent it has ended. */
static void look_up_commit(struct outbox *outbox)
{
    char from[24];
    const struct sql_fact facts[] = {{"from", .text = from}, {.name = NULL}};
    struct error error;
    int64_t lowest;

    if (outbox->unconfirmed_id == 0)
        return;
    (void)snprintf(from, sizeof from, "%" PRId64, outbox->unconfirmed_id);
    if (tables_ask(&outbox->tables, &outbox->session, db_sql_lowest, facts, &lowest, 1, &error) < 0)
        return;
    log_info("the COMMIT that was not answered has%s taken effect",
             lowest == outbox->unconfirmed_id ? " not" : "");
    outbox->unconfirmed_id = 0;
}

static int connect_session(struct outbox *outbox, struct error *error)
{
    int64_t idle_ms = outbox->options->publish_timeout_ms + OUTBOX_SLACK_MS;

    forget_description(outbox);
    outbox->connections++;
    if (db_open(&outbox->session, outbox->options, idle_ms, outbox->name, error) < 0)
        return -1;
    if (take_over(outbox, error) < 0 ||
        db_server_read(&outbox->server, &outbox->session, error) < 0)
        return db_abort(&outbox->session);
    if (db_server_check(&outbox->server, outbox->options, error) < 0) {
        outbox->session.first_host++;
        return db_abort(&outbox->session);
    }
    if (tables_describe(&outbox->tables, outbox->options, &outbox->session, error) < 0)
        return db_abort(&outbox->session);
    if (!outbox->tables.exists) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "there is no table %s",
                        outbox->tables.outbox);
        (void)error_hint(error, "outbox-relay-mysql init makes it");
        (void)error_mark_schema(error);
        return db_abort(&outbox->session);
    }
    if (outbox->source != NULL) /* a crash may have undone both commits and drawn ids */
        horizon_connected(outbox->source->horizon, &outbox->server.identity);
    if (make_statements(outbox, error) < 0 || claim_read_around(outbox, error) < 0)
        return db_abort(&outbox->session);
    look_up_commit(outbox);
    return outbox->session.conn != NULL ? 0
                                        : error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                                                    "database: the connection was lost");
}

int outbox_ready(struct outbox *outbox, struct error *error)
{
    return outbox->session.conn != NULL ? 0 : connect_session(outbox, error);
}

uint64_t outbox_connections(const struct outbox *outbox)
{
    return outbox->connections;
}

void outbox_abandon(struct outbox *outbox)
{
    claim_roll_back(outbox);
}

bool outbox_claims_ahead(const struct outbox *outbox)
{
    (void)outbox;
    return false; /* a claim is never sent with the settle before it */
}

bool outbox_refused_are_due(const struct outbox *outbox)
{
    return outbox->notes_are_due;
}

/* The time that the server worked does not count, nor does the wait for the flush. */
int64_t outbox_claim_slept_ms(const struct outbox *outbox)
{
    return clock_boot_ms() - outbox->sent_at_ms - outbox->server_work_ms;
}

bool outbox_claim_is_lost(const struct outbox *outbox)
{
    return db_is_cut_off(&outbox->session);
}

const char *outbox_pauses(const struct outbox *outbox)
{
    return outbox->pauses;
}

int outbox_read_pauses(struct outbox *outbox, struct error *error)
{
    return claim_read_around(outbox, error);
}

int outbox_remaining(struct outbox *outbox, const struct declined *declined, bool *due, int *parked,
                     struct error *error)
{
    char *names = claim_declined(declined);
    const struct sql_fact facts[] = {{names != NULL ? "declined" : "", .text = names},
                                     {.name = NULL}};
    int64_t numbers[2];
    int status =
        tables_ask(&outbox->tables, &outbox->session, db_sql_remaining, facts, numbers, 2, error);

    free(names);
    if (status < 0)
        return -1;
    *due = numbers[0] == 1;
    *parked = (int)numbers[1];
    return 0;
}

int outbox_adopt(struct outbox *outbox, int64_t *adopted, struct error *error)
{
    *adopted = settle_adopt(&outbox->tables, &outbox->session, error);
    return *adopted < 0 ? -1 : 0;
}
