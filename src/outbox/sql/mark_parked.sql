-- Settles parked rows: marks them, and keeps the values with which they were sent (kept_as_sent.sql).
-- $1 tid[] rows; $2 int4 their number.
WITH touched AS (
    UPDATE {parked} relay_kept
    SET state = 'sent', sent_at = clock_timestamp(), due = NULL, error = NULL, ({carried_names}) = (
        {kept_as_sent}
    )
    WHERE ctid = ANY ($1::tid[])
    RETURNING seq, waits_for AS reached, {left_key} AS left_key
), freed AS (
    {free_next}
), released AS (
    {release}
)
{count_settled}
