-- Locks up to $1 free slices that have due rows in the parked table, the longest due first: parked rows, or notes of
-- refused rows (catalog/refused.h).
-- $1 int4 how many; $2 int8 a bit for each sink that is away; $3 text[] what this relay's configuration declines: rows
-- that wait for it are left to others.
WITH wal AS MATERIALIZED (
    {keep_position}
)
SELECT coalesce(array_to_string(locked_slices, ','), ''),
       (SELECT slice_row.slices FROM {slice_table} slice_row ORDER BY slice LIMIT 1),
       true,
       true,
       set_config('outbox_relay.slices', coalesce(locked_slices::text, '{}'), true)
FROM (
    SELECT array_agg(slice) AS locked_slices
    FROM (
        SELECT relay_candidate.slice
        FROM (
            SELECT {slice_of_parked} AS slice
            FROM (
                SELECT id, key, due FROM {parked} head
                WHERE due <= statement_timestamp() AND {is_of_claim}
                  AND {parked_sink_is_here:$2}
                  AND coalesce(waits_for <> ALL ($3::text[]), true)
                ORDER BY due LIMIT 1000
            ) due_rows
            GROUP BY 1 ORDER BY min(due)
        ) relay_candidate,
        LATERAL (
            SELECT FROM {slice_table} slice_row
            WHERE slice_row.slice = relay_candidate.slice AND slice_row.slices = {slices}
              AND (SELECT is_kept FROM wal) IS NOT NULL
            FOR UPDATE SKIP LOCKED
        ) lock_taken
        LIMIT $1::int4
    ) taken
) all_taken
