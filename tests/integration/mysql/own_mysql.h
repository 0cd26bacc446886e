#ifndef TESTS_INTEGRATION_MYSQL_OWN_MYSQL_H
#define TESTS_INTEGRATION_MYSQL_OWN_MYSQL_H

/* MariaDB servers of the test's own, which it may kill and promote: a primary whose commits wait
 * until its replica has them. Both have the account relay, which no read-only server lets write. */

#include "integration/mysql/relay_process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

struct own_mysql {
    char folder[160];
    int port;
    pid_t pid;            /* 0: it is down */
    struct db_session db; /* root's */
};

static inline int own_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    (void)close(fd);
    return ntohs(address.sin_port);
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
    const struct db_options options = {.url = url, .idle_ms = 600000};
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
    struct error error;

    (void)snprintf(url, sizeof url, "mysql://root@127.0.0.1:%d/test", own->port);
    own->db = (struct db_session){.conn = NULL};
    while (db_open(&own->db, &options, "test", &error) < 0) {
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("%s/log: %s", own->folder, error.text);
        (void)usleep(50000);
    }
}

/* `settings`: lines of its configuration. */
static inline void own_create(struct own_mysql *own, const char *name, int id, const char *settings)
{
    char path[192];
    char command[1024];
    FILE *file;

    *own = (struct own_mysql){.port = own_free_port()};
    (void)snprintf(own->folder, sizeof own->folder, "%s/%s_%d", getenv("TEST_DIR"), name,
                   (int)getpid());
    (void)snprintf(command, sizeof command, "rm -rf %s && mkdir -m 700 %s", own->folder,
                   own->folder);
    assert_int_equal(system(command), 0);
    (void)snprintf(path, sizeof path, "%s/my.cnf", own->folder);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "[mysqld]\ndatadir = %s/data\ntmpdir = %s\nsocket = %s/socket\n"
                  "pid-file = %s/pid\nport = %d\nbind-address = 127.0.0.1\nskip-name-resolve\n"
                  "innodb_buffer_pool_size = 32M\n%s\nserver_id = %d\n",
                  own->folder, own->folder, own->folder, own->folder, own->port,
                  geteuid() == 0 ? "user = root" : "", id);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(command, sizeof command,
                   "mariadb-install-db --defaults-file=%s --auth-root-authentication-method=normal"
                   " --skip-test-db >%s/log 2>&1 && echo 'CREATE DATABASE test;'"
                   " | mariadbd --defaults-file=%s --bootstrap 2>>%s/log",
                   path, own->folder, path, own->folder);
    if (system(command) != 0)
        fail_msg("%s/log", own->folder);
    file = fopen(path, "a"); /* what it has made until here is in no binary log */
    assert_non_null(file);
    (void)fprintf(file, "%s\n", settings);
    assert_int_equal(fclose(file), 0);
}

static inline void own_start(struct own_mysql *own)
{
    char config[192];
    char log[192];

    (void)snprintf(config, sizeof config, "--defaults-file=%s/my.cnf", own->folder);
    (void)snprintf(log, sizeof log, "%s/log", own->folder);
    own->pid = fork();
    assert_true(own->pid >= 0);
    if (own->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(open(log, O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        (void)execlp("mariadbd", "mariadbd", config, NULL);
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

#define OWN_LOGS                                                                                   \
    "log_bin = bin\nlog_slave_updates = 1\nbinlog_format = ROW\nsync_binlog = 1\n"                 \
    "gtid_strict_mode = 1\nrpl_semi_sync_master_timeout = 600000\n"                                \
    "rpl_semi_sync_master_wait_point = AFTER_SYNC\nrpl_semi_sync_slave_enabled = 1\n"              \
    "slave_net_timeout = 5\n"

/* Returns once commits of the primary wait for the replica. */
static inline void own_create_pair(struct own_mysql *primary, struct own_mysql *replica)
{
    char text[256];

    own_create(primary, "primary", 1, OWN_LOGS);
    own_create(replica, "replica", 2, OWN_LOGS "read_only = 1");
    own_start(primary);
    own_start(replica);
    own_connect(primary);
    own_connect(replica);
    (void)snprintf(text, sizeof text,
                   "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %d,"
                   " MASTER_USER = 'root', MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos;"
                   " START SLAVE",
                   primary->port);
    own_sql(replica, text);
    own_sql(primary, "SET GLOBAL rpl_semi_sync_master_enabled = 1");
    own_await(primary, "SHOW STATUS LIKE 'Rpl_semi_sync_master_clients'", "Value", "1");
    own_await(primary, "SHOW STATUS LIKE 'Rpl_semi_sync_master_status'", "Value", "ON");
    own_sql(primary, "CREATE USER relay@127.0.0.1; GRANT ALL ON test.* TO relay@127.0.0.1");
}

/* What the replica has received is applied before it is no replica any longer. */
static inline void own_promote(struct own_mysql *replica)
{
    char received[256];
    char text[384];

    own_sql(replica, "STOP SLAVE IO_THREAD");
    own_text(replica, "SHOW SLAVE STATUS", "Gtid_IO_Pos", received, sizeof received);
    (void)snprintf(text, sizeof text, "SELECT MASTER_GTID_WAIT('%s', 9) AS waited", received);
    own_await(replica, text, "waited", "0");
    own_sql(replica, "STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0");
}

#endif
