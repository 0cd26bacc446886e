-- Claims parked rows of the slices that lock_parked_slices has locked. The first row of a key is due. The later rows of
-- the key are claimed with it, up to the first one that has to wait for a reason of its own, or for one of the outbox.
--
-- Rows are found by seq and not by ctid: a row that an operator updates at the same time is waited for and found
-- again. By ctid it would be missed, and later rows of its key would overtake it.
--
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned;
-- $3 text[] what this relay's configuration declines: rows that wait for it are left to others.
WITH wal AS MATERIALIZED (
    {claim_position}
), runs AS MATERIALIZED (
    SELECT run AS relay_run, run_id AS relay_run_id, key_text AS relay_run_key, slice AS relay_run_slice,
           run = first.seq AS relay_is_first
    FROM (
        SELECT seq, id, {key_text:key} AS key_text, {slice_of_parked} AS slice
        FROM {parked} head
        WHERE due <= statement_timestamp() AND {is_tried}
          AND {is_of_locked_slice}
          AND {parked_sink_is_here:$1}
          AND coalesce(waits_for <> ALL ($3::text[]), true)
          AND {is_head}
        ORDER BY due LIMIT {limit}
    ) first,
    LATERAL (
        SELECT run, run_id
        FROM (
            SELECT seq AS run, id AS run_id,
                   bool_or(state = 'dead' OR {is_note} OR coalesce(due > statement_timestamp(), false))
                       OVER (ORDER BY id, seq) AS stopped
            FROM (
                SELECT seq, id, due, state
                FROM {parked} behind
                WHERE behind.key IS NOT NULL
                  AND hashtextextended({key_text:behind.key}, 0) = hashtextextended(first.key_text, 0)
                  AND {key_text:behind.key} = first.key_text
                  AND (behind.id, behind.seq) >= (first.id, first.seq) AND behind.sent_at IS NULL
                ORDER BY id, seq LIMIT {limit}
            ) next
        ) judged
        WHERE NOT stopped
        UNION ALL
        SELECT first.seq, first.id WHERE first.key_text IS NULL
    ) later
    LIMIT {limit}
), {earlier}{copied_runs}locked AS MATERIALIZED (
    SELECT ctid AS relay_row, xmin AS relay_xmin, *, 0 AS relay_slice
    FROM {parked}
    WHERE (SELECT lsn FROM wal) IS NOT NULL AND sent_at IS NULL AND state <> 'dead'
      AND seq = ANY (ARRAY({ready_runs}))
    ORDER BY id, seq
    FOR UPDATE
)
{result}
