-- The same as claim_parked.sql where rows stay in the outbox: the row is locked before its copy, as by a lane that
-- settles the row.
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned;
-- $3 text[] what this relay's configuration declines: rows that wait for it are left to others.
WITH wal AS MATERIALIZED (
    {claim_position}
), copied AS MATERIALIZED (
    SELECT relay_run, is_free
    FROM (
        SELECT seq AS relay_run, id AS relay_copy_id, identity AS relay_copy_identity, in_outbox AS relay_in_outbox
        FROM {parked}
        WHERE (SELECT lsn FROM wal) IS NOT NULL
          AND due <= statement_timestamp() AND {is_tried}
          AND {parked_sink_is_here:$1}
          AND coalesce(waits_for <> ALL ($3::text[]), true)
        ORDER BY due OFFSET 0
    ) relay_copy,
    LATERAL ({copy_is_free}) freed,
    LATERAL (
        SELECT FROM {parked}
        WHERE seq = relay_run AND is_free IS NOT NULL AND due <= statement_timestamp()
        FOR UPDATE SKIP LOCKED
    ) taken
    LIMIT {limit}
), {put_off}locked AS MATERIALIZED (
    SELECT ctid AS relay_row, xmin AS relay_xmin, *, 0 AS relay_slice
    FROM {parked}
    WHERE {is_tried} AND seq = ANY (ARRAY(SELECT relay_run FROM copied WHERE is_free))
    ORDER BY due
    FOR UPDATE
)
{result}
