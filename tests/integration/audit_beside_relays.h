#ifndef INTEGRATION_AUDIT_BESIDE_RELAYS_H
#define INTEGRATION_AUDIT_BESIDE_RELAYS_H

/* Audits while relays send and writers insert. */

#include "integration/auditing.h"

#include <signal.h>

#define WRITERS 3

/* No two of them write the same key, so each key's ids are drawn in the order of the commits. They
 * write until two audits have seen rows. */
#define WRITE                                                                                      \
    "DO $$ BEGIN FOR i IN 1..100000 LOOP EXIT WHEN i > 600 AND EXISTS (SELECT FROM enough);"       \
    " INSERT INTO outbox (topic, key, payload) SELECT 'a', pg_backend_pid() || '-' || (random() *" \
    " 20)::int, to_jsonb(i) FROM generate_series(1, 1 + i % 3); PERFORM pg_sleep(0.003); COMMIT;"  \
    " END LOOP; END $$"

static inline void start_writers(struct fixture *fixture, PGconn *writers[WRITERS])
{
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = harness_connect(fixture->url);
        assert_int_equal(PQsendQuery(writers[i], WRITE), 1);
    }
}

static inline bool is_writing(PGconn *writers[WRITERS])
{
    bool busy = false;

    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(PQconsumeInput(writers[i]), 1);
        busy = busy || PQisBusy(writers[i]) == 1;
    }
    return busy;
}

static inline void end_writers(PGconn *writers[WRITERS])
{
    for (int i = 0; i < WRITERS; i++) {
        PGresult *result = PQgetResult(writers[i]);

        assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
        PQclear(result);
        PQfinish(writers[i]);
    }
}

static inline void audit_beside_relays(struct fixture *fixture)
{
    PGconn *writers[WRITERS];
    struct process relays[2];
    int audits = 0;

    for (int i = 0; i < 2; i++)
        process_start(&relays[i], NULL, "run", "-c", fixture->config, NULL);
    sql(fixture->conn, "CREATE TABLE enough ()");
    start_writers(fixture, writers);
    do {
        audit_all(fixture, 0);
        assert_findings(fixture, (struct expected){0});
        assert_counted(fixture, "found", counted("rows"));
        assert_counted(fixture, "messages", counted("rows") + counted("other_rows"));
        audits += counted("rows") > 0;
        if (audits == 2)
            sql(fixture->conn, "INSERT INTO enough DEFAULT VALUES");
    } while (is_writing(writers));
    end_writers(writers);
    wait_for_number(fixture->conn, 0, UNSENT);
    for (int i = 0; i < 2; i++) {
        process_stop(&relays[i], SIGTERM);
        process_free(&relays[i]);
    }
    audit_all(fixture, 0);
    assert_clean(fixture, (int)sql_number(fixture->conn, "SELECT count(*) FROM outbox"));
}

#endif
