/*
 * Inserts into the outbox at a steady rate and hears what reaches the consumer, in one process with
 * one clock:
 *
 *     bench_flow nats|kafka SERVER NAME TOPIC DATABASE RATE SECONDS
 *
 * SESSIONS connections commit one after the other, in transactions of one row, or of as many as it
 * takes to need no more than COMMITS_MAX of them a second. The clock of a row starts right before
 * its COMMIT is sent and stops when the consumer has its message. RATE 0 inserts as fast as the
 * relay follows: no more than BACKLOG_MAX rows are committed and not consumed.
 *
 * Prints rows, messages, different rows, seconds and rows consumed in those seconds (both without
 * the first WARM_S), then the microseconds of each row that was committed after WARM_S.
 */

#include "consume.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SESSIONS 8
#define COMMITS_MAX 1500
#define BACKLOG_MAX 10000
#define FLAT_OUT_ROWS 20 /* a transaction, of RATE 0 */
#define FLAT_OUT_MAX 400000
#define WARM_S 1
#define PATIENCE_US 20000000
#define QUIET_US 500000 /* at the end: a double would come in it */

/* The relay's own shape of row (common.py: fill). */
static const char insert[] =
    "PREPARE rows (bigint, int, text) AS INSERT INTO outbox (topic, key, type, payload)"
    " SELECT $3, 'k' || i % 10000, 'Bench', jsonb_build_object('n', i, 'pad', repeat('x', 176))"
    " FROM generate_series($1, $1 + $2 - 1) i";

struct flow {
    struct listener base;
    const char *topic, *database;
    int64_t rate, start_us, end_us;
    int64_t limit; /* rows, at most */
    int rows;      /* a transaction */
    int64_t *committed_us, *took_us;
    atomic_llong taken, committed; /* numbers, and rows */
    atomic_int inserting;          /* sessions */
    atomic_llong consumed;
    int64_t messages, heard_us;
    int64_t consumed_warm, consumed_end; /* as of the end of WARM_S, and of the last insert */
};

struct session {
    struct flow *flow;
    int place;
    pthread_t thread;
};

static void run(PGconn *connection, const char *text)
{
    PGresult *result = PQexec(connection, text);

    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        die(text, PQerrorMessage(connection));
    PQclear(result);
}

/* PostgreSQL would plan the insert anew each time, for half of what it then takes. */
static PGconn *open_session(const struct flow *flow)
{
    PGconn *connection = PQconnectdb(flow->database);

    if (PQstatus(connection) != CONNECTION_OK)
        die("database", PQerrorMessage(connection));
    run(connection, "SET plan_cache_mode = force_generic_plan");
    run(connection, insert);
    return connection;
}

static void sleep_until(int64_t us)
{
    struct timespec until = {us / 1000000, us % 1000000 * 1000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        ;
}

static void commit_rows(struct flow *flow, PGconn *connection, int64_t first, int count)
{
    char text[256];
    int64_t us;

    (void)snprintf(text, sizeof text, "BEGIN; EXECUTE rows(%lld, %d, '%s')", (long long)first,
                   count, flow->topic);
    run(connection, text);
    us = now_us();
    for (int i = 0; i < count; i++)
        flow->committed_us[first + i] = us;
    run(connection, "COMMIT");
    (void)atomic_fetch_add(&flow->committed, count);
}

/* When this session's next transaction is due: they take turns. */
static int64_t due_us(const struct flow *flow, int place, int64_t turn)
{
    return flow->start_us +
           (int64_t)((double)(turn * SESSIONS + place) * flow->rows * 1e6 / (double)flow->rate);
}

static void await_turn(struct flow *flow, int place, int64_t turn)
{
    if (flow->rate > 0)
        sleep_until(due_us(flow, place, turn));
    else
        while (atomic_load(&flow->committed) - atomic_load(&flow->consumed) > BACKLOG_MAX &&
               now_us() < flow->end_us)
            sleep_until(now_us() + 1000);
}

static void *insert_rows(void *closure)
{
    struct session *session = closure;
    struct flow *flow = session->flow;
    PGconn *connection = open_session(flow);

    for (int64_t turn = 0;; turn++) {
        int64_t first;

        await_turn(flow, session->place, turn);
        if (now_us() >= flow->end_us)
            break;
        first = atomic_fetch_add(&flow->taken, flow->rows) + 1;
        if (first + flow->rows > flow->limit)
            break;
        commit_rows(flow, connection, first, flow->rows);
    }
    PQfinish(connection);
    (void)atomic_fetch_sub(&flow->inserting, 1);
    return NULL;
}

static void note_time(struct flow *flow, int64_t us)
{
    if (us < flow->start_us + WARM_S * 1000000)
        flow->consumed_warm = flow->consumed;
    if (us < flow->end_us)
        flow->consumed_end = flow->consumed;
}

static bool on_message(struct listener *listener, const char *payload, size_t len)
{
    struct flow *flow = (struct flow *)listener;
    int64_t us = now_us();
    int64_t number;

    if (payload == NULL)
        return atomic_load(&flow->inserting) > 0 ||
               us - flow->heard_us < (flow->consumed < flow->committed ? PATIENCE_US : QUIET_US);
    flow->heard_us = us;
    flow->messages++;
    number = number_in(payload, len);
    if (number < 1 || number >= flow->limit)
        die("a payload", "its number was never sent");
    if (flow->took_us[number] == 0) {
        flow->took_us[number] = us - flow->committed_us[number] + 1;
        (void)atomic_fetch_add(&flow->consumed, 1);
    }
    note_time(flow, us);
    return true;
}

static void print(const struct flow *flow)
{
    int64_t warm_us = flow->start_us + WARM_S * 1000000;

    (void)printf("%lld %lld %lld %.3f %lld\n", (long long)flow->committed,
                 (long long)flow->messages, (long long)flow->consumed,
                 (double)(flow->end_us - warm_us) / 1e6,
                 (long long)(flow->consumed_end - flow->consumed_warm));
    for (int64_t i = 1; i < flow->limit; i++)
        if (flow->took_us[i] > 0 && flow->committed_us[i] >= warm_us)
            (void)printf("%lld\n", (long long)flow->took_us[i]);
}

static void prepare(struct flow *flow, char **argv)
{
    int64_t seconds = strtoll(argv[7], NULL, 10);

    flow->topic = argv[4];
    flow->database = argv[5];
    flow->rate = strtoll(argv[6], NULL, 10);
    flow->rows =
        flow->rate > 0 ? (int)((flow->rate + COMMITS_MAX - 1) / COMMITS_MAX) : FLAT_OUT_ROWS;
    flow->limit = (flow->rate > 0 ? flow->rate + flow->rows : FLAT_OUT_MAX) * (seconds + 1);
    flow->committed_us = calloc((size_t)flow->limit, sizeof *flow->committed_us);
    flow->took_us = calloc((size_t)flow->limit, sizeof *flow->took_us);
    if (flow->committed_us == NULL || flow->took_us == NULL)
        die("memory", "none left");
    flow->inserting = SESSIONS;
    flow->start_us = now_us() + 300000; /* the sessions and the consumer are there by then */
    flow->end_us = flow->start_us + seconds * 1000000;
    flow->heard_us = flow->end_us;
}

int main(int argc, char **argv)
{
    static struct flow flow = {.base = {on_message}};
    struct session sessions[SESSIONS];

    if (argc != 8)
        die("usage", "bench_flow nats|kafka SERVER NAME TOPIC DATABASE RATE SECONDS");
    prepare(&flow, argv);
    for (int i = 0; i < SESSIONS; i++) {
        sessions[i] = (struct session){.flow = &flow, .place = i};
        if (pthread_create(&sessions[i].thread, NULL, insert_rows, &sessions[i]) != 0)
            die("thread", "cannot be started");
    }
    (void)consume(argv[1], argv[2], argv[3], &flow.base);
    for (int i = 0; i < SESSIONS; i++)
        (void)pthread_join(sessions[i].thread, NULL);
    print(&flow);
    return flow.consumed == flow.committed && flow.messages == flow.consumed ? 0 : 1;
}
