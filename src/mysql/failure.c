/*
 * What an error of the server means: for the transaction, for whoever waits, and whether its text
 * may be shown; and how a session is closed, which an error may ask for.
 */
#include "mysql/session.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <sys/socket.h>

#define CONNECTION_KILLED 1927 /* MariaDB */
#define STATEMENT_TIMEOUT 1969 /* MariaDB: max_statement_time */
#define QUERY_TIMEOUT 3024     /* MySQL: max_execution_time */
#define READ_ONLY 1836         /* MySQL: innodb_read_only */
#define LOCK_NOWAIT 3572       /* MySQL */
#define CLIENT_ERRORS 2000     /* codes from here on are the client's own: the connection is lost */
#define CLIENT_ERRORS_END 2999
#define DISCONNECTED 4031 /* MySQL: wait_timeout */

enum { KIND_KNOWN = 1, KIND_PERMANENT = 2, KIND_SCHEMA = 4, KIND_CUT = 8 };

/* The errors whose texts hold no value of a row. */
static const struct {
    unsigned code;
    enum db_failure failure;
    unsigned kind;
} errors[] = {
    {ER_LOCK_WAIT_TIMEOUT, DB_FAILURE_LOCKED, 0},
    {LOCK_NOWAIT, DB_FAILURE_LOCKED, 0},
    {ER_LOCK_DEADLOCK, DB_FAILURE_TRANSACTION, 0},
    {ER_ERROR_DURING_COMMIT, DB_FAILURE_TRANSACTION, 0},
    {ER_CHECKREAD, DB_FAILURE_TRANSACTION, 0},
    {CONNECTION_KILLED, DB_FAILURE_SESSION, KIND_CUT},
    {ER_SERVER_SHUTDOWN, DB_FAILURE_SESSION, KIND_CUT},
    {DISCONNECTED, DB_FAILURE_SESSION, KIND_CUT},
    {ER_CON_COUNT_ERROR, DB_FAILURE_SESSION, KIND_CUT},
    {ER_QUERY_INTERRUPTED, DB_FAILURE_STATEMENT, 0},
    {STATEMENT_TIMEOUT, DB_FAILURE_STATEMENT, 0},
    {QUERY_TIMEOUT, DB_FAILURE_STATEMENT, 0},
    {ER_ACCESS_DENIED_ERROR, DB_FAILURE_STATEMENT, KIND_PERMANENT},
    {ER_DBACCESS_DENIED_ERROR, DB_FAILURE_STATEMENT, KIND_PERMANENT},
    {ER_TABLEACCESS_DENIED_ERROR, DB_FAILURE_STATEMENT, KIND_PERMANENT},
    {ER_COLUMNACCESS_DENIED_ERROR, DB_FAILURE_STATEMENT, KIND_PERMANENT},
    {ER_SPECIFIC_ACCESS_DENIED_ERROR, DB_FAILURE_STATEMENT, KIND_PERMANENT},
    {ER_XAER_RMERR, DB_FAILURE_STATEMENT, KIND_PERMANENT},    /* MySQL: without XA_RECOVER_ADMIN */
    {ER_UNKNOWN_TABLE, DB_FAILURE_STATEMENT, KIND_PERMANENT}, /* of information_schema */
    {ER_BINLOG_CREATE_ROUTINE_NEED_SUPER, DB_FAILURE_STATEMENT, KIND_PERMANENT},
    {ER_OPTION_PREVENTS_STATEMENT, DB_FAILURE_SESSION, 0}, /* a server that is read-only now */
    {READ_ONLY, DB_FAILURE_SESSION, 0},
    {ER_BINLOG_STMT_MODE_AND_ROW_ENGINE, DB_FAILURE_STATEMENT, KIND_PERMANENT},
    {ER_NO_SUCH_TABLE, DB_FAILURE_STATEMENT, KIND_PERMANENT | KIND_SCHEMA},
    {ER_BAD_FIELD_ERROR, DB_FAILURE_STATEMENT, KIND_PERMANENT | KIND_SCHEMA},
    {ER_BAD_DB_ERROR, DB_FAILURE_STATEMENT, KIND_PERMANENT | KIND_SCHEMA},
    {ER_PARSE_ERROR, DB_FAILURE_STATEMENT, KIND_PERMANENT},
    {ER_SP_DOES_NOT_EXIST, DB_FAILURE_STATEMENT, KIND_PERMANENT},
    {ER_KEY_DOES_NOT_EXISTS, DB_FAILURE_STATEMENT, KIND_PERMANENT | KIND_SCHEMA},
    {ER_TABLE_DEF_CHANGED, DB_FAILURE_STATEMENT, 0},
    {ER_ROW_IS_REFERENCED, DB_FAILURE_STATEMENT, 0}, /* by a table that this role may not see */
    {ER_ROW_IS_REFERENCED_2, DB_FAILURE_STATEMENT, 0},
    {ER_NO_REFERENCED_ROW_2, DB_FAILURE_STATEMENT, 0},
    {ER_RECORD_FILE_FULL, DB_FAILURE_STATEMENT, 0},
    {ER_DISK_FULL, DB_FAILURE_STATEMENT, 0},
};

static void close_statement(MYSQL_STMT **statement)
{
    if (*statement != NULL)
        (void)mysql_stmt_close(*statement);
    *statement = NULL;
}

/* libmariadb would send farewells, for which it may wait: the socket is shut before. */
void db_close(struct db_session *session)
{
    if (session->conn == NULL)
        return;
    if (mysql_get_socket(session->conn) != MARIADB_INVALID_SOCKET)
        (void)shutdown((int)mysql_get_socket(session->conn), SHUT_RDWR);
    if (session->streamed != NULL) { /* it would read on from the connection */
        session->streamed->handle = NULL;
        mysql_free_result(session->streamed);
        session->streamed = NULL;
    }
    mysql_close(session->conn);
    session->conn = NULL;
    for (int i = 0; i < DB_PREPARED_MAX; i++)
        close_statement(&session->prepared[i]);
    close_statement(&session->preparing);
    close_statement(&session->once);
}

int db_abort(struct db_session *session)
{
    db_close(session);
    return -1;
}

void db_end(struct db_session *session)
{
    db_close(session);
    bounded_call_forget(&session->late);
}

static void classify(struct db_session *session, unsigned *kind)
{
    session->failure = DB_FAILURE_STATEMENT;
    *kind = 0;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == session->code) {
            session->failure = errors[i].failure;
            *kind = errors[i].kind | KIND_KNOWN;
        }
    if (session->code >= CLIENT_ERRORS && session->code <= CLIENT_ERRORS_END) {
        session->failure = DB_FAILURE_SESSION;
        *kind = KIND_KNOWN | KIND_CUT;
    }
}

int db_fail(struct db_session *session, MYSQL_STMT *statement, struct error *error)
{
    const char *text = statement != NULL ? mysql_stmt_error(statement) : mysql_error(session->conn);
    const char *state =
        statement != NULL ? mysql_stmt_sqlstate(statement) : mysql_sqlstate(session->conn);
    unsigned kind;

    session->code = statement != NULL ? mysql_stmt_errno(statement) : mysql_errno(session->conn);
    if (session->code == 0) { /* no result where there must be one */
        session->code = CR_UNKNOWN_ERROR;
        text = "unexpected answer";
    }
    classify(session, &kind);
    if ((kind & KIND_KNOWN) != 0)
        (void)error_set(error, (kind & KIND_PERMANENT) != 0 ? ERROR_PERMANENT : ERROR_TRANSIENT,
                        ERROR_DATABASE, "database: %s (%u)", text, session->code);
    else
        (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE, "database: error %u (%s)",
                        session->code, state);
    if ((kind & KIND_KNOWN) == 0)
        error_quote(error, "%s", text);
    if ((kind & KIND_SCHEMA) != 0)
        (void)error_mark_schema(error);
    if ((kind & KIND_CUT) != 0)
        (void)error_mark_unanswered(error);
    if (session->failure == DB_FAILURE_LOCKED || session->code == ER_LOCK_DEADLOCK)
        error->cause = ERROR_LOCKED;
    else if (session->failure == DB_FAILURE_SESSION)
        error->cause = ERROR_CUT;
    else if ((kind & KIND_SCHEMA) != 0)
        error->cause = ERROR_GONE;
    else if ((kind & KIND_KNOWN) == 0)
        error->cause = ERROR_OF_ROW;
    if (session->failure == DB_FAILURE_SESSION || session->streamed != NULL)
        db_close(session);
    return -1;
}
