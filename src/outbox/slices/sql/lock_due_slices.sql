-- Locks up to $1 free slices that have due rows in the parked table, the longest due first: parked rows, or notes of
-- refused rows (catalog/refused.h).
-- $1 int4 how many; $2 int8 a bit for each sink that is away.
WITH wal AS MATERIALIZED (
    {keep_position}
)
SELECT coalesce(array_to_string(slices, ','), ''),
       (SELECT slices.slices FROM {slice_table} slices ORDER BY slice LIMIT 1),
       true,
       true,
       set_config('outbox_relay.slices', coalesce(slices::text, '{}'), true)
FROM (
    SELECT array_agg(slice) AS slices
    FROM (
        SELECT relay_candidate.slice
        FROM (
            SELECT {slice_of_parked} AS slice
            FROM (
                SELECT id, key, due FROM {parked} head
                WHERE due <= statement_timestamp() AND {is_of_claim}
                  AND {parked_sink_is_here:$2}
                ORDER BY due LIMIT 1000
            ) due_rows
            GROUP BY 1 ORDER BY min(due)
        ) relay_candidate,
        LATERAL (
            SELECT FROM {slice_table} slices
            WHERE slices.slice = relay_candidate.slice AND slices.slices = {slices}
              AND (SELECT seen FROM wal) IS NOT NULL
            FOR UPDATE SKIP LOCKED
        ) locked
        LIMIT $1::int4
    ) taken
) locked
