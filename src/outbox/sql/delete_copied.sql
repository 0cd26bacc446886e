-- Before parked rows are settled: deletes the rows of the outbox of which they are copies. Raises an error when a
-- trigger keeps one of them from it.
-- $1 tid[] the copies.
WITH found AS MATERIALIZED (
    {copied_rows}
), touched AS (
    DELETE FROM {outbox} WHERE ctid = ANY (ARRAY(SELECT found_row FROM found)) RETURNING true AS is_out
)
{count_copied}
