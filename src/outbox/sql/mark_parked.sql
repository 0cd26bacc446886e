-- Settles parked rows: marks them.
-- $1 tid[] rows; $2 int4 their number.
WITH touched AS (
    UPDATE {parked} SET state = 'sent', sent_at = clock_timestamp(), due = NULL, error = NULL
    WHERE ctid = ANY ($1::tid[])
    RETURNING seq, waits_for AS reached, {left_key} AS left_key
), freed AS (
    {free_next}
), released AS (
    {release}
)
{count_settled}
