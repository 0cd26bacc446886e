-- use: lane claim_parked if keyed with levels from_parked
-- use: lane first_parked_row if keyed with first from_parked
-- Claims parked rows of the slices that lock_parked_slices has locked. The first row of a key is due. The later rows of
-- the key are claimed with it, up to the first one that has to wait for a reason of its own, or for one of the outbox.
--
-- Rows are found by seq and not by ctid: a row that an operator updates at the same time is waited for and found again.
-- By ctid it would be missed, and later rows of its key would overtake it. Where rows stay in the outbox, the row is
-- locked before its copy, as by a lane that settles the row; a copy whose row is locked is put off.
--
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned; $3
-- text[] what this relay's configuration declines: rows that wait for it are left to others.
WITH wal AS MATERIALIZED (
    {claim_position}
), runs AS MATERIALIZED (
    SELECT run AS relay_run, run_id AS relay_run_id, key_text AS relay_run_key, slice AS relay_run_slice,
           run = first.seq AS relay_is_first
    FROM (
        SELECT seq, id, {key_text} AS key_text, {slice_of_parked} AS slice
        FROM {parked} head
        WHERE due <= statement_timestamp() AND state IN ('retry', 'scheduled', 'waiting', 'paused') AND sent_at IS NULL
          AND {slice_of_parked} = ANY (current_setting('outbox_relay.slices')::int4[])
          AND ($1::int8 = 0 OR coalesce($1::int8 >> ({sink_of_parked}), 0) & 1 = 0)
          AND coalesce(waits_for <> ALL ($3::text[]), true)
          AND {is_head}
        ORDER BY due LIMIT {limit}
    ) first,
    LATERAL (
        SELECT run, run_id
        FROM (
            SELECT seq AS run, id AS run_id,
                   bool_or(state = 'dead' OR {is_note}
                       OR coalesce(due > statement_timestamp(), false))
                       OVER (ORDER BY id, seq) AS stopped
            FROM (
                SELECT seq, id, due, state
                FROM {parked} behind
                WHERE behind.key IS NOT NULL
                  AND hashtextextended({key_text}, 0)
                      = hashtextextended(first.key_text, 0)
                  AND {key_text} = first.key_text
                  AND (behind.id, behind.seq) >= (first.id, first.seq) AND behind.sent_at IS NULL
                ORDER BY id, seq LIMIT {limit}
            ) next
        ) judged
        WHERE NOT stopped
        UNION ALL
        SELECT first.seq, first.id WHERE first.key_text IS NULL
    ) later
    LIMIT {limit}
),
{earlier}
{if in_place}
copied AS MATERIALIZED (
    SELECT relay_run, is_free,
           bool_and(coalesce(is_free, false)) OVER (
               PARTITION BY relay_run_key, CASE WHEN relay_run_key IS NULL THEN relay_run END
               ORDER BY relay_run_id, relay_run) AS is_ready
    FROM (
        SELECT runs.*, id AS relay_copy_id, identity AS relay_copy_identity, in_outbox AS relay_in_outbox
        FROM runs JOIN {parked} ON seq = relay_run
        WHERE NOT {is_held}
    ) relay_copy,
    LATERAL ({copy_is_free}) freed
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
    WHERE (SELECT lsn FROM wal) IS NOT NULL AND sent_at IS NULL AND state <> 'dead'
      AND seq = ANY (ARRAY(
          SELECT relay_run FROM {if in_place}copied WHERE is_ready{else}runs WHERE NOT {is_held}{end}))
    ORDER BY id, seq
    FOR UPDATE
)
{claimed_rows}
