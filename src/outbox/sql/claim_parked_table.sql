-- use: lane claim_parked if !keyed with levels from_parked
-- use: lane first_parked_row if !keyed with first from_parked
-- Claims parked rows that are due, where rows have no order. Where rows stay in the outbox, the row is locked before
-- its copy, as by a lane that settles the row; a copy whose row is locked is put off.
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned; $3
-- text[] what this relay's configuration declines: rows that wait for it are left to others.
WITH wal AS MATERIALIZED (
    {claim_position}
),
{if in_place}
copied AS MATERIALIZED (
    SELECT relay_run, is_free
    FROM (
        SELECT seq AS relay_run, id AS relay_copy_id, identity AS relay_copy_identity, in_outbox AS relay_in_outbox
        FROM {parked}
        WHERE (SELECT lsn FROM wal) IS NOT NULL
          AND due <= statement_timestamp() AND state IN ('retry', 'scheduled', 'waiting', 'paused') AND sent_at IS NULL
          AND ($1::int8 = 0 OR coalesce($1::int8 >> ({sink_of_parked}), 0) & 1 = 0)
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
), put_off AS (
    UPDATE {parked} SET due = statement_timestamp(), error = 'its row is locked by another session'
    WHERE due IS NOT NULL AND sent_at IS NULL AND seq = ANY (ARRAY(
        SELECT seq FROM {parked}
        WHERE seq = ANY (ARRAY(SELECT relay_run FROM copied WHERE NOT is_free))
        FOR UPDATE SKIP LOCKED))
),
{end}
locked AS MATERIALIZED (
    SELECT ctid AS relay_row, xmin AS relay_xmin, *, 0 AS relay_slice
    FROM {parked}
    {if in_place}
    WHERE state IN ('retry', 'scheduled', 'waiting', 'paused') AND sent_at IS NULL
      AND seq = ANY (ARRAY(SELECT relay_run FROM copied WHERE is_free))
    ORDER BY due
    FOR UPDATE
    {else}
    WHERE (SELECT lsn FROM wal) IS NOT NULL
      AND due <= statement_timestamp() AND state IN ('retry', 'scheduled', 'waiting', 'paused') AND sent_at IS NULL
      AND ($1::int8 = 0 OR coalesce($1::int8 >> ({sink_of_parked}), 0) & 1 = 0)
      AND coalesce(waits_for <> ALL ($3::text[]), true)
    ORDER BY due LIMIT {limit}
    FOR UPDATE SKIP LOCKED
    {end}
)
{claimed_rows}
