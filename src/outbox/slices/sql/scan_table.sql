-- The lowest unsent id of the whole table, which is slice 0, from its bound on (NULL: none), whether the high bound was
-- used, and NULL.
-- $1 int4[] slices; $2 int8[] their low bounds; $3 int8[] their high bounds, used while all long holders $4 xid8[] are
-- running in the snapshot; $5 int8 a bit for each sink whose rows are ignored.
WITH held AS MATERIALIZED (
    SELECT (SELECT {are_running} FROM (SELECT $4::xid8[] AS xids) holders) AS running
)
SELECT relay_scan.slice, found.lowest, (SELECT running FROM held) AS read_high, NULL AS window_end
FROM ROWS FROM (unnest($1::int4[]), unnest($2::int8[]), unnest($3::int8[])) AS relay_scan (slice, low, high)
LEFT JOIN LATERAL (
    SELECT {id} AS lowest
    FROM {outbox}
    WHERE {id} >= CASE WHEN (SELECT running FROM held) THEN relay_scan.high ELSE relay_scan.low END
      AND {unsent} AND {is_not_noted}
      AND ($5::int8 = 0 OR coalesce($5::int8 >> ({sink}), 0) & 1 = 0)
    ORDER BY {outbox_name}.{id} LIMIT 1
) found ON $5::int8 IS NOT NULL
