/*
 * Faults at exact points of a relay's cycle, in the unmodified program: a library to LD_PRELOAD
 * that stands before the functions of libpq, librdkafka and nats.c which the relay calls, counts
 * what passes, and strikes.
 *
 *   OUTBOX_CRASH=POINT:NTH[:ACTION][,...]   the NTH time that POINT is reached; ACTION: kill
 *
 *   P0   connected, before a BEGIN that travels alone (not behind the COMMIT of the batch before)
 *   P1   BEGIN and LOCK executed by the server, the claim not sent
 *   P2   the claim's rows are read
 *   P3   after a flush of the WAL, before the first publish of the batch
 *   P4   a message is handed to the client library (counts messages), whose buffer may hold it yet
 *   P5   all of the batch are handed over (to NATS: written to its socket), their acknowledgements
 *        not waited for
 *   P6   an acknowledgement has been seen (counts messages)
 *   P7   all are acknowledged, before the settling statement
 *   P8   the settling statement is executed by the server, COMMIT not sent (stop: only queued)
 *   P9   COMMIT is sent, its answer not read
 *   P10  the answer to COMMIT is read
 *
 *   kill SIGKILL   stop SIGSTOP   term SIGTERM to oneself, and goes on once it has been taken
 *   stop-run       SIGSTOP, at P8 after the server has executed the statement
 *   cut-db         shuts down every connection to PostgreSQL
 *   cut-broker     shuts down every other connection
 *   lost           holds the lane until nats.c has noticed that its connection is lost
 *
 * Each strike is a line on stderr, with the time, before it falls. The counts are the process's; a
 * test that wants exact places runs one lane. Statements are known by the names under which the
 * relay prepares them: where these change, a point is never reached, and its test fails.
 */

#include <dlfcn.h>
#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>
#include <nats/nats.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define POINTS 11
#define FAULTS_MAX 8
#define CONNECTIONS_MAX 64
#define QUEUE_MAX 64
#define SERVER_WAIT_MS 2000
#define LOSS_WAIT_MS 20000

enum action { KILL, STOP, STOP_RUN, TERM, CUT_DB, CUT_BROKER, LOST, ACTIONS };

static const char *const action_names[ACTIONS] = {"kill",   "stop",       "stop-run", "term",
                                                  "cut-db", "cut-broker", "lost"};

struct fault {
    int point;
    long nth;
    enum action action;
};

/* What a connection in pipeline mode has been sent and not yet answered, in order. */
struct session {
    PGconn *conn;
    bool pipeline;
    bool settling; /* a settling statement is queued behind the last BEGIN */
    bool commit_unsent;
    const char *queue[QUEUE_MAX];
    unsigned first;
    unsigned end;
};

static struct fault faults[FAULTS_MAX];
static int fault_count;
static atomic_long reached[POINTS];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct session sessions[CONNECTIONS_MAX];

/* Of the lane, which is a thread. */
static _Thread_local long batch_rows;
static _Thread_local long batch_sent;
static _Thread_local bool batch_written;
static _Thread_local int flushes_before; /* the batch was claimed */
static atomic_int flushes;               /* of the WAL, by the watch for all lanes */

static natsConnection *nats_connection; /* the last one */
static void (*delivery_handler)(rd_kafka_t *, const rd_kafka_message_t *, void *);

static _Noreturn void give_up(const char *what)
{
    dprintf(STDERR_FILENO, "crash: %s\n", what);
    abort();
}

/* The library's own function. ISO C knows no cast from an object's pointer to a function's. */
#define REAL(function)                                                                             \
    static __typeof__(&function) real;                                                             \
    do {                                                                                           \
        void *found = real == NULL ? dlsym(RTLD_NEXT, #function) : NULL;                           \
        if (found != NULL)                                                                         \
            memcpy(&real, &found, sizeof real);                                                    \
        if (real == NULL)                                                                          \
            give_up("no " #function);                                                              \
    } while (0)

static enum action action_of(const char *name)
{
    for (int i = 0; i < ACTIONS; i++)
        if (strcmp(name, action_names[i]) == 0)
            return (enum action)i;
    give_up("OUTBOX_CRASH: no such action");
}

__attribute__((constructor)) static void read_faults(void)
{
    const char *text = getenv("OUTBOX_CRASH");
    int used;

    while (text != NULL && *text != '\0' && fault_count < FAULTS_MAX) {
        struct fault *fault = &faults[fault_count++];

        char action[16] = "kill";

        if (sscanf(text, "P%d:%ld%n", &fault->point, &fault->nth, &used) != 2 || fault->point < 0 ||
            fault->point >= POINTS || fault->nth < 1)
            give_up("OUTBOX_CRASH is not POINT:NTH:ACTION,...");
        text += used;
        if (sscanf(text, ":%15[a-z-]%n", action, &used) == 1)
            text += used;
        fault->action = action_of(action);
        text += *text == ',';
    }
}

/* ---- the strikes ----------------------------------------------------------------------------- */

static bool is_database(int fd)
{
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        if (sessions[i].conn != NULL && PQsocket(sessions[i].conn) == fd)
            return true;
    return false;
}

/* By a copy: the library may close its own at once. */
static bool end_connection(int fd)
{
    struct pollfd copy = {.fd = dup(fd)};
    bool ended;

    shutdown(copy.fd, SHUT_RDWR);
    ended = poll(&copy, 1, 0) == 1 && copy.revents & POLLHUP;
    close(copy.fd);
    return ended;
}

/* Every connected TCP socket of the process; the relays of these tests have no others. */
static void cut(bool database)
{
    int ended = 0;

    pthread_mutex_lock(&mutex);
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;

        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
            (peer.ss_family == AF_INET || peer.ss_family == AF_INET6) &&
            is_database(fd) == database)
            ended += end_connection(fd);
    }
    pthread_mutex_unlock(&mutex);
    dprintf(STDERR_FILENO, "crash: %d connections cut\n", ended);
}

/* Returns when the thread that reads signals has taken it. */
static void terminate(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    sigset_t pending;

    kill(getpid(), SIGTERM);
    do {
        nanosleep(&moment, NULL);
        sigpending(&pending);
    } while (sigismember(&pending, SIGTERM) == 1);
}

static bool is_lost(natsConnection *connection)
{
    natsStatistics *statistics = NULL;
    uint64_t ignored;
    uint64_t reconnects = 0;

    if (natsConnection_IsClosed(connection) || natsConnection_IsReconnecting(connection))
        return true;
    if (natsStatistics_Create(&statistics) == NATS_OK &&
        natsConnection_GetStats(connection, statistics) == NATS_OK)
        natsStatistics_GetCounts(statistics, &ignored, &ignored, &ignored, &ignored, &reconnects);
    natsStatistics_Destroy(statistics);
    return reconnects > 0;
}

static void await_loss(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    for (int i = 0; i < LOSS_WAIT_MS && !is_lost(nats_connection); i++) {
        nanosleep(&moment, NULL);
        natsConnection_ProcessReadEvent(nats_connection); /* nobody else does */
    }
}

static void strike(const struct fault *fault)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    dprintf(STDERR_FILENO, "crash: P%d:%ld:%s at %lld.%06ld\n", fault->point, fault->nth,
            action_names[fault->action], (long long)now.tv_sec, now.tv_nsec / 1000);
    switch (fault->action) {
    case KILL:
        kill(getpid(), SIGKILL);
        break;
    case STOP:
    case STOP_RUN:
        raise(SIGSTOP); /* to this thread: sent to the process, it would let this one go on a little
                         */
        break;
    case TERM:
        terminate();
        break;
    case CUT_DB:
        cut(true);
        break;
    case CUT_BROKER:
        cut(false);
        break;
    case LOST:
        await_loss();
        break;
    case ACTIONS:
        break;
    }
}

/* Counts; the fault that is due now, or NULL. */
static const struct fault *reach(int point)
{
    long nth = atomic_fetch_add(&reached[point], 1) + 1;

    for (int i = 0; i < fault_count; i++)
        if (faults[i].point == point && faults[i].nth == nth)
            return &faults[i];
    return NULL;
}

static void pass(int point)
{
    const struct fault *fault = reach(point);

    if (fault != NULL)
        strike(fault);
}

/* ---- PostgreSQL ------------------------------------------------------------------------------ */

/* With the mutex held. NULL finds a free one; libpq's own calls name connections that are not yet
 * entered. */
static struct session *find_session(const PGconn *conn)
{
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        if (sessions[i].conn == conn)
            return &sessions[i];
    return NULL;
}

static struct session *session_of(const PGconn *conn)
{
    struct session *found;

    pthread_mutex_lock(&mutex);
    found = find_session(conn);
    pthread_mutex_unlock(&mutex);
    return found;
}

static void enter(PGconn *conn)
{
    struct session *session;

    pthread_mutex_lock(&mutex);
    session = find_session(NULL);
    if (session == NULL)
        give_up("too many connections");
    *session = (struct session){.conn = conn};
    pthread_mutex_unlock(&mutex);
}

static void leave(const PGconn *conn)
{
    struct session *session;

    pthread_mutex_lock(&mutex);
    session = find_session(conn);
    if (session != NULL)
        session->conn = NULL;
    pthread_mutex_unlock(&mutex);
}

static void push(struct session *session, const char *name)
{
    if (session->end - session->first == QUEUE_MAX)
        give_up("too many statements in a pipeline");
    session->queue[session->end++ % QUEUE_MAX] = name;
}

static void flush_all(PGconn *conn)
{
    struct pollfd socket = {.fd = PQsocket(conn), .events = POLLOUT};

    while (PQflush(conn) == 1)
        (void)poll(&socket, 1, SERVER_WAIT_MS);
}

/* Until the server has answered, which it does once it has executed what it was sent. */
static void let_server_run(PGconn *conn)
{
    struct pollfd socket = {.fd = PQsocket(conn), .events = POLLIN};

    PQsendFlushRequest(conn);
    flush_all(conn);
    if (poll(&socket, 1, SERVER_WAIT_MS) != 1)
        give_up("the server does not answer");
}

/* Names that outlive the call; what is not told apart is "other". */
static const char *name_of(const struct session *session, const char *statement)
{
    if (strncmp(statement, "claim_", 6) == 0 || strncmp(statement, "lean_claim_", 11) == 0)
        return "claim";
    if (strcmp(statement, "commit") == 0)
        return session->settling ? "settling commit" : "commit";
    return "other";
}

/* Settles rows of the outbox. */
static bool settles(const char *statement)
{
    return strcmp(statement, "sent") == 0 || strcmp(statement, "pass") == 0;
}

static void before_statement(struct session *session, const char *statement)
{
    if (strcmp(statement, "begin") == 0 && !session->commit_unsent)
        pass(0);
    if (settles(statement))
        pass(7);
    if (strcmp(statement, "begin") == 0)
        session->settling = false;
}

static void after_statement(struct session *session, const char *statement)
{
    const struct fault *fault = NULL;

    push(session, name_of(session, statement));
    if (strcmp(statement, "lock") == 0 && !session->commit_unsent)
        fault = reach(1);
    if (settles(statement)) {
        session->settling = true;
        fault = reach(8);
    }
    if (strcmp(statement, "commit") == 0 && session->settling)
        session->commit_unsent = true;
    if (fault == NULL)
        return;
    if (fault->point == 1 || fault->action != STOP)
        let_server_run(session->conn);
    strike(fault);
}

static void after_result(struct session *session, const PGresult *result)
{
    const char *name = session->queue[session->first++ % QUEUE_MAX];

    if (strcmp(name, "claim") == 0 && PQntuples(result) > 0) {
        batch_rows = PQntuples(result);
        batch_sent = 0;
        batch_written = false;
        flushes_before = atomic_load(&flushes);
        pass(2);
    }
    if (strcmp(name, "settling commit") == 0 && PQresultStatus(result) == PGRES_COMMAND_OK)
        pass(10);
}

PGconn *PQconnectdbParams(const char *const *keywords, const char *const *values, int expand_dbname)
{
    REAL(PQconnectdbParams);
    PGconn *conn = real(keywords, values, expand_dbname);

    if (conn != NULL)
        enter(conn);
    return conn;
}

void PQfinish(PGconn *conn)
{
    REAL(PQfinish);
    if (conn != NULL)
        leave(conn);
    real(conn);
}

int PQenterPipelineMode(PGconn *conn)
{
    REAL(PQenterPipelineMode);
    session_of(conn)->pipeline = true;
    return real(conn);
}

int PQsendPrepare(PGconn *conn, const char *name, const char *query, int count, const Oid *types)
{
    REAL(PQsendPrepare);
    int status = real(conn, name, query, count, types);

    if (status == 1 && session_of(conn)->pipeline)
        push(session_of(conn), "other");
    return status;
}

int PQsendQueryPrepared(PGconn *conn, const char *statement, int count, const char *const *values,
                        const int *lengths, const int *formats, int result_format)
{
    REAL(PQsendQueryPrepared);
    struct session *session = session_of(conn);
    int status;

    before_statement(session, statement);
    status = real(conn, statement, count, values, lengths, formats, result_format);
    if (status == 1)
        after_statement(session, statement);
    return status;
}

/* The flush of the WAL is the only statement with such a text. */
int PQsendQueryParams(PGconn *conn, const char *command, int count, const Oid *types,
                      const char *const *values, const int *lengths, const int *formats,
                      int result_format)
{
    REAL(PQsendQueryParams);
    if (strstr(command, "pg_logical_emit_message") != NULL)
        (void)atomic_fetch_add(&flushes, 1);
    return real(conn, command, count, types, values, lengths, formats, result_format);
}

int PQpipelineSync(PGconn *conn)
{
    REAL(PQpipelineSync);
    struct session *session = session_of(conn);
    int status = real(conn);

    if (status != 1)
        return status;
    push(session, "other");
    if (session->commit_unsent) {
        flush_all(conn);
        session->commit_unsent = false;
        pass(9);
    }
    return status;
}

PGresult *PQgetResult(PGconn *conn)
{
    REAL(PQgetResult);
    struct session *session = session_of(conn);
    PGresult *result = real(conn);

    if (result != NULL && session != NULL && session->pipeline && session->first != session->end)
        after_result(session, result);
    return result;
}

/* ---- the brokers ----------------------------------------------------------------------------- */

static void before_publish(void)
{
    if (batch_sent == 0 && atomic_load(&flushes) != flushes_before)
        pass(3);
}

static void after_publish(void)
{
    batch_sent++;
    pass(4);
}

/* Once a batch. */
static void after_write(void)
{
    if (batch_written || batch_sent == 0 || batch_sent != batch_rows)
        return;
    batch_written = true;
    pass(5);
}

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *report, void *opaque)
{
    bool positive = report->err == RD_KAFKA_RESP_ERR_NO_ERROR;

    delivery_handler(client, report, opaque);
    if (positive)
        pass(6);
}

natsStatus natsConnection_Connect(natsConnection **connection, natsOptions *options)
{
    REAL(natsConnection_Connect);
    natsStatus status = real(connection, options);

    if (status == NATS_OK)
        nats_connection = *connection;
    return status;
}

/* What wants no answer is no event. */
natsStatus natsConnection_PublishMsg(natsConnection *connection, natsMsg *message)
{
    REAL(natsConnection_PublishMsg);
    natsStatus status;

    if (natsMsg_GetReply(message) == NULL)
        return real(connection, message);
    before_publish();
    status = real(connection, message);
    if (status == NATS_OK)
        after_publish();
    return status;
}

void natsConnection_ProcessWriteEvent(natsConnection *connection)
{
    REAL(natsConnection_ProcessWriteEvent);

    real(connection);
    if (natsConnection_Buffered(connection) <= 0)
        after_write();
}

/* Of what the relay reads from its inbox only acknowledgements begin so. */
natsStatus natsSubscription_NextMsg(natsMsg **message, natsSubscription *inbox, int64_t timeout)
{
    static const char positive[] = "{\"stream\":";
    REAL(natsSubscription_NextMsg);
    natsStatus status = real(message, inbox, timeout);

    if (status == NATS_OK && strncmp(natsMsg_GetData(*message), positive, sizeof positive - 1) == 0)
        pass(6);
    return status;
}

void rd_kafka_conf_set_dr_msg_cb(rd_kafka_conf_t *conf,
                                 void (*handler)(rd_kafka_t *, const rd_kafka_message_t *, void *))
{
    REAL(rd_kafka_conf_set_dr_msg_cb);
    delivery_handler = handler;
    real(conf, on_delivery);
}

rd_kafka_error_t *rd_kafka_produceva(rd_kafka_t *client, const rd_kafka_vu_t *values, size_t count)
{
    REAL(rd_kafka_produceva);
    rd_kafka_error_t *refused;

    before_publish();
    refused = real(client, values, count);
    if (refused == NULL) {
        after_publish();
        after_write();
    }
    return refused;
}
