/*
 * `init --inbox`: consumers that are killed, and get a tenth of the events at the same time as the
 * other one, handle each event once. INBOX_EVENTS and INBOX_KILLS say how many.
 */
#include "integration/program.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONSUMERS 2

/* What is left of a consumer that was killed. */
struct consumer {
    int acknowledged; /* to the broker: it goes on behind these events */
    int deaths;
};

static struct consumer *consumers; /* shared by the processes */

FIXTURE(set_up, fixture_close)

static int number_from(const char *name, int otherwise)
{
    const char *value = getenv(name);

    return value != NULL ? atoi(value) : otherwise;
}

static void load_inbox(struct fixture *fixture)
{
    expect(fixture, run(fixture, "init", "--inbox"), 0);
    sql(fixture->conn, "SET client_min_messages = warning");
    sql(fixture->conn, "%s", fixture->process.out);
}

static bool is_done(PGconn *conn, const char *command, const char *event_id)
{
    PGresult *result =
        PQexecParams(conn, command, event_id != NULL, NULL, &event_id, NULL, NULL, 0);
    bool is_new = PQntuples(result) == 1 && PQgetvalue(result, 0, 0)[0] == 't';

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        _exit(1);
    PQclear(result);
    return is_new;
}

/* Before the effect, before the commit, or before the acknowledgement. */
static void die_at(int step, int deaths, bool is_due)
{
    if (is_due && deaths % 3 == step)
        (void)kill(getpid(), SIGKILL);
}

static void handle(PGconn *conn, int event, int deaths, bool is_due)
{
    char event_id[32];

    (void)snprintf(event_id, sizeof event_id, "event-%d", event);
    (void)is_done(conn, "BEGIN", NULL);
    if (is_done(conn, "SELECT inbox_is_new($1)", event_id)) {
        die_at(0, deaths, is_due);
        (void)is_done(conn, "INSERT INTO effects VALUES ($1)", event_id);
        die_at(1, deaths, is_due);
    }
    (void)is_done(conn, "COMMIT", NULL);
    die_at(2, deaths, is_due);
}

/* Every tenth event comes to both. */
static pid_t start_consumer(const char *url, int number, int events, int kills)
{
    struct consumer *consumer = &consumers[number];
    pid_t pid = fork();
    PGconn *conn;

    if (pid != 0)
        return pid;
    conn = PQconnectdb(url);
    for (int event = consumer->acknowledged; event < events; event++) {
        int64_t next_death = (int64_t)events * (consumer->deaths + 1) / (kills / CONSUMERS + 1);

        if (event % CONSUMERS == number || event % 10 == 9)
            handle(conn, event, consumer->deaths, event >= next_death);
        consumer->acknowledged = event + 1;
    }
    PQfinish(conn);
    _exit(0);
}

static int number_of(const pid_t *pids, pid_t pid)
{
    int number = 0;

    while (number < CONSUMERS && pids[number] != pid)
        number++;
    assert_true(number < CONSUMERS);
    return number;
}

FIXTURE_TEST(each_event_has_its_effect_once_although_consumers_are_killed_and_events_repeated)
{
    int events = number_from("INBOX_EVENTS", 6000);
    int kills = number_from("INBOX_KILLS", 20);
    pid_t pids[CONSUMERS];
    int deaths = 0;
    int status;

    load_inbox(fixture);
    sql(fixture->conn, "CREATE TABLE effects (event_id text)");
    consumers = mmap(NULL, CONSUMERS * sizeof *consumers, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(consumers != MAP_FAILED);
    for (int i = 0; i < CONSUMERS; i++)
        pids[i] = start_consumer(fixture->url, i, events, kills);
    for (int running = CONSUMERS; running > 0;) {
        int number = number_of(pids, wait(&status));

        if (WIFSIGNALED(status)) {
            consumers[number].deaths++;
            deaths++;
            pids[number] = start_consumer(fixture->url, number, events, kills);
        } else {
            assert_int_equal(WEXITSTATUS(status), 0);
            running--;
        }
    }
    assert_int_equal(deaths, kills);
    assert_number(fixture->conn, events, "SELECT count(*) FROM effects");
    assert_number(fixture->conn, events, "SELECT count(DISTINCT event_id) FROM effects");
    assert_number(fixture->conn, events, "SELECT count(*) FROM inbox");
    assert_int_equal(munmap(consumers, CONSUMERS * sizeof *consumers), 0);
}

FIXTURE_TEST(the_inbox_forgets_old_ids_in_steps_and_may_be_made_twice)
{
    load_inbox(fixture);
    load_inbox(fixture);
    sql(fixture->conn,
        "INSERT INTO inbox (event_id, arrived_at) SELECT n, now() - n * interval '1 minute' + interval '30 s' FROM"
        " generate_series(1, 30000) n");
    assert_number(fixture->conn, 10000, "SELECT inbox_clean()");
    assert_number(fixture->conn, 9920, "SELECT inbox_clean()");
    assert_number(fixture->conn, 0, "SELECT inbox_clean()");
    assert_number(fixture->conn, 10080, "SELECT max(event_id::int) FROM inbox");
    assert_string_equal(sql_text(fixture->conn, "SELECT inbox_is_new('7')"), "f");
    assert_string_equal(sql_text(fixture->conn, "SELECT inbox_is_new('30000')"), "t");
    assert_string_equal(sql_text(fixture->conn, "SELECT inbox_is_new('30000', 'billing')"), "t");
    expect_run(fixture, 2, "init", "--inbox", "--print");
    /* whatever the search_path of its caller is */
    sql(fixture->conn, "SET search_path = pg_catalog");
    assert_string_equal(sql_text(fixture->conn, "SELECT public.inbox_is_new('30000')"), "f");
}
