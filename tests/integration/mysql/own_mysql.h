#ifndef TESTS_INTEGRATION_MYSQL_OWN_MYSQL_H
#define TESTS_INTEGRATION_MYSQL_OWN_MYSQL_H

/* Servers of the test's own, of the version of the one that all tests share, which it may kill and
 * promote: a primary whose commits wait until its replica has them. Both have the account relay,
 * which no read-only server lets write. */

#include "integration/mysql/relay_process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

struct own_mysql {
    char folder[128];
    int port;
    pid_t pid;            /* 0: it is down */
    struct db_session db; /* root's */
};

/* Below the ports that connections get: a server binds it seconds later. `id` tells the servers of
 * a test apart. */
static inline int own_free_port(int id)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int port = 10240 + ((int)getpid() * 2 + id) % 20000;
    int status = -1;

    for (int tries = 0; status != 0 && tries < 100; tries++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        port = tries == 0 ? port : 10240 + (port - 10240 + 2) % 20000;
        address.sin_port = htons((uint16_t)port);
        status = bind(fd, (struct sockaddr *)&address, sizeof address);
        (void)close(fd);
    }
    assert_int_equal(status, 0);
    return port;
}

static inline void own_sql(struct own_mysql *own, const char *text)
{
    struct error error;

    if (db_execute(&own->db, text, &error) < 0)
        fail_msg("%d: %s: %s %s", own->port, text, error.text, error.words);
}

/* A column of the first row, into `out`; "" if there is none. */
static inline void own_text(struct own_mysql *own, const char *text, const char *column, char *out,
                            size_t size)
{
    struct error error;
    MYSQL_RES *rows = db_query(&own->db, text, &error);
    MYSQL_ROW row;

    if (rows == NULL)
        fail_msg("%d: %s: %s %s", own->port, text, error.text, error.words);
    row = mysql_fetch_row(rows);
    out[0] = '\0';
    for (unsigned i = 0; row != NULL && i < mysql_num_fields(rows); i++)
        if (row[i] != NULL && strcmp(mysql_fetch_fields(rows)[i].name, column) == 0)
            (void)snprintf(out, size, "%s", row[i]);
    mysql_free_result(rows);
}

static inline void own_await(struct own_mysql *own, const char *text, const char *column,
                             const char *wanted)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
    char value[512];

    for (own_text(own, text, column, value, sizeof value); strcmp(value, wanted) != 0;
         own_text(own, text, column, value, sizeof value)) {
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("%d: %s: \"%s\" instead of \"%s\"", own->port, text, value, wanted);
        (void)usleep(20000);
    }
}

static inline void own_connect(struct own_mysql *own)
{
    char url[96];
    const struct outbox_options options = {.url = url};
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
    struct error error;

    (void)snprintf(url, sizeof url, "mysql://root@127.0.0.1:%d/test", own->port);
    own->db = (struct db_session){.conn = NULL};
    while (db_open(&own->db, &options, 600000, "test", &error) < 0) {
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("%s/log: %s", own->folder, error.text);
        (void)usleep(50000);
    }
}

/* Runs a line in which the functions of tests/support/services.d/mariadb.sh are there. */
#define OWN_SHELL "set -e; . tests/support/services.d/mariadb.sh; "

/* `settings`: lines of its configuration, but not while its tables are made. */
static inline void own_create(struct own_mysql *own, const char *name, int id, const char *settings)
{
    char path[192];
    char command[1024];
    FILE *file;

    *own = (struct own_mysql){.port = own_free_port(id)};
    (void)snprintf(own->folder, sizeof own->folder, "%s/%s_%d", getenv("TEST_DIR"), name,
                   (int)getpid());
    (void)snprintf(
        command, sizeof command,
        "rm -rf %s && mkdir -p -m 700 %s/mariadb &&"
        " export TEST_DIR=%s && bash -c '" OWN_SHELL "mariadb_settings %d >%s/mariadb/my.cnf;"
        " mariadb_install %s/mariadb/my.cnf' >%s/log 2>&1",
        own->folder, own->folder, own->folder, own->port, own->folder, own->folder, own->folder);
    if (system(command) != 0)
        fail_msg("%s/log", own->folder);
    (void)snprintf(path, sizeof path, "%s/mariadb/my.cnf", own->folder);
    file = fopen(path, "a");
    assert_non_null(file);
    (void)fprintf(file, "innodb_buffer_pool_size = 64M\nserver_id = %d\n%s\n", id, settings);
    assert_int_equal(fclose(file), 0);
}

static inline void own_start(struct own_mysql *own)
{
    char command[512];

    (void)snprintf(command, sizeof command,
                   OWN_SHELL "exec \"$(mariadb_program)\" --defaults-file=%s/mariadb/my.cnf"
                             " >>%s/log 2>&1",
                   own->folder, own->folder);
    own->pid = fork();
    assert_true(own->pid >= 0);
    if (own->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execlp("bash", "bash", "-c", command, NULL);
        _exit(127);
    }
}

static inline void own_kill(struct own_mysql *own)
{
    if (own->pid == 0)
        return;
    (void)kill(own->pid, SIGKILL);
    (void)waitpid(own->pid, NULL, 0);
    own->pid = 0;
}

static inline void own_end(struct own_mysql *own)
{
    char command[192];

    own_kill(own);
    db_end(&own->db);
    if (own->folder[0] == '\0')
        return;
    (void)snprintf(command, sizeof command, "rm -rf %s", own->folder);
    assert_int_equal(system(command), 0);
}

/* ---- replication ---- */

/* What MariaDB and MySQL have other words for. */
struct own_words {
    const char *logs; /* settings of both servers */
    const char *follow;
    const char *confirm; /* commits wait for the replica from then on */
    const char *clients;
    const char *written; /* all that the server has committed */
    const char *stop_receiving;
    const char *status;
    const char *received; /* the column of it */
    const char *await;
    const char *promote;
    const char *lock; /* for all but administrators */
};

static const struct own_words own_mariadb = {
    .logs = "log_bin = bin\nlog_slave_updates = 1\nbinlog_format = ROW\nsync_binlog = 1\n"
            "gtid_strict_mode = 1\nrpl_semi_sync_master_timeout = 600000\n"
            "rpl_semi_sync_master_wait_point = AFTER_SYNC\nrpl_semi_sync_slave_enabled = 1\n",
    .follow = "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %d,"
              " MASTER_USER = 'root', MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos;"
              " START SLAVE",
    .confirm = "SET GLOBAL rpl_semi_sync_master_enabled = 1",
    .clients = "SHOW STATUS LIKE 'Rpl_semi_sync_master_clients'",
    .written = "SELECT @@gtid_binlog_pos AS at",
    .stop_receiving = "STOP SLAVE IO_THREAD",
    .status = "SHOW SLAVE STATUS",
    .received = "Gtid_IO_Pos",
    .await = "SELECT MASTER_GTID_WAIT('%s', 9) AS waited",
    .promote = "STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0",
    .lock = "SET GLOBAL read_only = 1",
};

static const struct own_words own_oracle = {
    .logs = "gtid_mode = ON\nenforce_gtid_consistency = ON\nlog_bin = bin\nsync_binlog = 1\n"
            "plugin-load-add = semisync_source.so\nplugin-load-add = semisync_replica.so\n"
            "loose-rpl_semi_sync_source_timeout = 600000\n"
            "loose-rpl_semi_sync_replica_enabled = 1\n",
    .follow = "RESET BINARY LOGS AND GTIDS;"
              " CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = %d,"
              " SOURCE_USER = 'root', SOURCE_CONNECT_RETRY = 1, SOURCE_AUTO_POSITION = 1;"
              " START REPLICA",
    .confirm = "SET GLOBAL rpl_semi_sync_source_enabled = 1",
    .clients = "SHOW STATUS LIKE 'Rpl_semi_sync_source_clients'",
    .written = "SELECT @@GLOBAL.gtid_executed AS at",
    .stop_receiving = "STOP REPLICA IO_THREAD",
    .status = "SHOW REPLICA STATUS",
    .received = "Retrieved_Gtid_Set",
    .await = "SELECT WAIT_FOR_EXECUTED_GTID_SET('%s', 9) AS waited",
    .promote = "STOP REPLICA; RESET REPLICA ALL; SET GLOBAL super_read_only = 0;"
               " SET GLOBAL read_only = 0",
    .lock = "SET GLOBAL super_read_only = 1",
};

static inline const struct own_words *own_words(void)
{
    return system("bash -c '. tests/support/services.d/mariadb.sh; mariadb_is_mysql'") == 0
               ? &own_oracle
               : &own_mariadb;
}

/* Returns once commits of the primary wait for the replica. */
static inline void own_create_pair(struct own_mysql *primary, struct own_mysql *replica)
{
    const struct own_words *words = own_words();
    char text[512];

    own_create(primary, "primary", 1, words->logs);
    (void)snprintf(text, sizeof text, "%sread_only = 1\n", words->logs);
    own_create(replica, "replica", 2, text);
    own_start(primary);
    own_start(replica);
    own_connect(primary);
    own_connect(replica);
    if (words == &own_oracle)
        own_sql(primary, "RESET BINARY LOGS AND GTIDS");
    (void)snprintf(text, sizeof text, words->follow, primary->port);
    own_sql(replica, text);
    own_sql(primary, words->confirm);
    own_await(primary, words->clients, "Value", "1");
    own_sql(primary, "CREATE USER relay@127.0.0.1; GRANT ALL ON test.* TO relay@127.0.0.1");
}

static inline void own_await_applied(struct own_mysql *replica, const char *position)
{
    char text[512];

    (void)snprintf(text, sizeof text, own_words()->await, position);
    own_await(replica, text, "waited", "0");
}

/* What the replica has received is applied before it is no replica any longer. */
static inline void own_promote(struct own_mysql *replica)
{
    const struct own_words *words = own_words();
    char received[256];

    own_sql(replica, words->stop_receiving);
    own_text(replica, words->status, words->received, received, sizeof received);
    own_await_applied(replica, received);
    own_sql(replica, words->promote);
}

/* Writers are refused from then on, and the replica gets what they had written before. */
static inline void own_switch_over(struct own_mysql *primary, struct own_mysql *replica)
{
    char written[256];

    own_sql(primary, own_words()->lock);
    own_text(primary, own_words()->written, "at", written, sizeof written);
    own_await_applied(replica, written);
    own_promote(replica);
}

#endif
