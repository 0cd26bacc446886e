#ifndef INTEGRATION_POSITION_ROWS_H
#define INTEGRATION_POSITION_ROWS_H

#include "integration/program.h"

/* Rows of seven keys; the payload of a row is its number, which rises within each key. */
static inline void insert_rows(PGconn *conn, int first, int count)
{
    sql(conn,
        "INSERT INTO outbox (topic, key, payload) SELECT 't', 'k' || i %% 7, to_jsonb(i)"
        " FROM generate_series(%d, %d) i",
        first, first + count - 1);
}

/* So many rows were printed, each once. */
static inline void assert_printed(struct fixture *fixture, int rows)
{
    assert_number(fixture->conn, rows, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, rows, "SELECT count(DISTINCT line->>'id') FROM printed");
    assert_keys_printed_in_order(fixture);
}

#endif
