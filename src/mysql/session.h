#ifndef MYSQL_SESSION_H
#define MYSQL_SESSION_H

#include "base/bounded_call.h"
#include "base/error.h"
#include "base/text.h"
#include "source/options.h"

#include <mysql.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * One connection to MariaDB or MySQL on which no call waits forever: libmariadb's calls are begun
 * by their _start and continued by their _cont functions, between which poll(2) waits with a
 * deadline.
 *
 * Functions that return int return 0, or -1 with *error set, unless they say otherwise. After a
 * failed wait or a lost connection the session is closed, because it is unknown what the server
 * did. A failed statement leaves it open, and session->failure says what that did to the
 * transaction.
 */

#define DB_STATEMENT_MS 10000
#define DB_WAIT_MS (DB_STATEMENT_MS + 2000) /* longer, so that the server's error arrives */
#define DB_LOCK_S 3 /* how long a statement waits for a lock of a row or of a table */
#define DB_PREPARED_MAX 24

enum db_failure {
    DB_FAILURE_NONE,
    DB_FAILURE_STATEMENT,   /* the statement was undone; the transaction is as before it */
    DB_FAILURE_LOCKED,      /* the same, because another session holds a lock for too long */
    DB_FAILURE_TRANSACTION, /* the whole transaction was undone, its savepoints too (a deadlock) */
    DB_FAILURE_SESSION      /* the connection is lost; what the server did is not known */
};

struct db_session {
    MYSQL *conn; /* NULL: closed */
    struct bounded_call *late;
    int first_host;      /* the host of the url that is tried first */
    int64_t deadline_ms; /* of the current call */
    enum db_failure failure;
    unsigned code; /* the server's number of the last error */
    bool is_mariadb;
    unsigned version;         /* 101106: 10.11.6 */
    const char *const *texts; /* of the statements that db_run() prepares */
    MYSQL_STMT *prepared[DB_PREPARED_MAX];
    MYSQL_STMT *preparing; /* that is being prepared */
    MYSQL_STMT *once;      /* that is run and not kept */
    MYSQL_RES *streamed;   /* rows that are read one by one; NULL: none */
};

/* Connects and makes the settings of the session. `idle_ms`: how long a transaction may idle before
 * the server ends its session. */
int db_open(struct db_session *session, const struct outbox_options *options, int64_t idle_ms,
            const char *name, struct error *error);
void db_close(struct db_session *session);
/* Closes the session after a failure that has set *error; returns -1. */
int db_abort(struct db_session *session);
/* Closes the session for good and frees the rest. */
void db_end(struct db_session *session);

/* Sends one or more statements, divided by semicolons, and reads the answer to the first. After a
 * failed statement the later ones are not run. */
int db_send(struct db_session *session, const char *sql, struct error *error);
/* Reads the answer to the next of them. */
int db_next(struct db_session *session, struct error *error);
/* The rows of the current answer; mysql_free_result() them. NULL with *error set. */
MYSQL_RES *db_rows(struct db_session *session, struct error *error);

/* The same, one by one, until all are read. db_fetch() returns 1; 0 after the last row; -1. */
int db_stream(struct db_session *session, struct error *error);
int db_fetch(struct db_session *session, MYSQL_ROW *row, const unsigned long **lengths,
             struct error *error);

/* One statement and its rows, and one without rows: the number of affected rows, or -1. A row that
 * an UPDATE has left as it was counts too. */
MYSQL_RES *db_query(struct db_session *session, const char *sql, struct error *error);
int64_t db_execute(struct db_session *session, const char *sql, struct error *error);
/* The same as a prepared statement with texts as parameters: session->texts[statement], which is
 * prepared when it is first run. */
int64_t db_run(struct db_session *session, int statement, const struct text *params, int count,
               struct error *error);

/* The same with a statement that is not kept. */
int64_t db_run_once(struct db_session *session, const char *sql, const struct text *params,
                    int count, struct error *error);

/* By the server's last answer. */
bool db_is_in_transaction(const struct db_session *session);
/* Whether the server or the network has ended the connection. */
bool db_is_cut_off(const struct db_session *session);
/* The socket, to poll(2) for input; -1: closed. */
int db_socket(const struct db_session *session);

/* Sets *error and session->failure from an error of the connection or of `statement` (NULL: of the
 * connection). Closes a session that is lost. Returns -1. */
int db_fail(struct db_session *session, MYSQL_STMT *statement, struct error *error);

#endif
