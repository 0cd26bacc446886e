/* What the server is, and what of it keeps a relay from working there. */
#include "mysql/state.h"
#include "mysql/statements.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    char flush[24];
    char sync_binlog[24];
    char what[512]; /* what tells the server from another one */
};

static bool is_on(const char *value)
{
    return strcasecmp(value, "ON") == 0 || strcmp(value, "1") == 0;
}

static void take(struct db_server *server, struct settings *settings, const char *name,
                 const char *value)
{
    size_t len = strlen(settings->what);

    if (strcmp(name, "innodb_flush_log_at_trx_commit") == 0)
        (void)snprintf(settings->flush, sizeof settings->flush, "%s", value);
    else if (strcmp(name, "sync_binlog") == 0)
        (void)snprintf(settings->sync_binlog, sizeof settings->sync_binlog, "%s", value);
    else if (strcmp(name, "log_bin") == 0)
        server->logs = is_on(value);
    else if (strcmp(name, "read_only") == 0)
        server->is_read_only = strcasecmp(value, "OFF") != 0 && strcmp(value, "0") != 0;
    else if (strcmp(name, "wsrep_on") == 0)
        server->is_cluster = is_on(value);
    else if (strcmp(name, "max_allowed_packet") == 0)
        server->packet_bytes = strtoll(value, NULL, 10);
    else if (strcmp(name, "binlog_format") == 0)
        server->logs_statements = strcasecmp(value, "STATEMENT") == 0;
    else
        (void)snprintf(settings->what + len, sizeof settings->what - len, "%s/", value);
}

void db_server_note(struct db_server *server, const char *flush, const char *sync_binlog)
{
    server->setting = NULL;
    if (strcmp(flush, "1") != 0)
        server->setting = "innodb_flush_log_at_trx_commit";
    else if (server->logs && strcmp(sync_binlog, "1") != 0)
        server->setting = "sync_binlog";
    server->durability = server->setting != NULL ? DURABLE_NOT
                         : server->logs          ? DURABLE_AT_ONCE
                                                 : DURABLE_BY_FLUSH;
}

int db_server_read(struct db_server *server, struct db_session *session, struct error *error)
{
    struct settings settings = {.flush = "1", .sync_binlog = "1"};
    MYSQL_RES *rows = db_query(session, sql_body(db_sql_server), error);
    MYSQL_ROW row;

    if (rows == NULL)
        return -1;
    *server = (struct db_server){.is_read_only = false};
    while ((row = mysql_fetch_row(rows)) != NULL)
        if (row[0] != NULL && row[1] != NULL)
            take(server, &settings, row[0], row[1]);
    mysql_free_result(rows);
    db_server_note(server, settings.flush, settings.sync_binlog);
    server->logs_statements = server->logs_statements && server->logs;
    (void)snprintf(server->identity.system, sizeof server->identity.system, "%016llx",
                   (unsigned long long)text_hash(text_of(settings.what)));
    return 0;
}

int db_server_check(const struct db_server *server, const struct outbox_options *options,
                    struct error *error)
{
    if (server->is_read_only) {
        (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                        "database: the server is read-only, such as a replica");
        return error_hint(error, "name the primary in [database] url");
    }
    if (server->is_cluster)
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                         "database: the server is a node of a Galera cluster (wsrep_on), where two"
                         " relays could send the events of one key at the same time");
    if (server->logs_statements) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "database: the binary log has statements, which READ COMMITTED does not"
                        " allow");
        return error_hint(error, "SET GLOBAL binlog_format = 'ROW';");
    }
    if (server->packet_bytes < TABLES_PACKET_MIN) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "database: max_allowed_packet is %" PRId64 " bytes, and statements of the"
                        " relay take up to %d",
                        server->packet_bytes, TABLES_PACKET_MIN);
        return error_hint(error, "SET GLOBAL max_allowed_packet = 16777216;");
    }
    if (options->durable_before_publish && server->durability == DURABLE_NOT) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "database: durable_before_publish needs %s = 1, or a crash of the server"
                        " takes back what was published",
                        server->setting);
        return error_hint(error, "SET GLOBAL %s = 1;", server->setting);
    }
    return 0;
}
