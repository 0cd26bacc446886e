-- use: lane scan if !by_slice integer_ids
-- The same as scan_table, while sinks are away: the scan ends after {window} unsent rows of any sink. The last column
-- is the id of the last of them (NULL: there are fewer). When none of them may be claimed, "lowest" is the id of the
-- first row after the window, which has the number {window} + 1.
-- $1 int4[] slices; $2 int8[] their low bounds; $3 int8[] their high bounds, used while all long holders $4 xid8[] are
-- running in the snapshot; $5 int8 a bit for each sink whose rows are ignored.
WITH held AS MATERIALIZED (
    SELECT (SELECT cardinality(xids) > 0 AND cardinality(xids) = (
                SELECT count(*) FROM pg_snapshot_xip(pg_current_snapshot()) running (xid) WHERE running.xid
                    = ANY (xids))
     FROM (SELECT $4::xid8[] AS xids) holders) AS running
)
SELECT relay_scan.slice, found.lowest, (SELECT running FROM held) AS read_high, found.last AS window_end
FROM ROWS FROM (unnest($1::int4[]), unnest($2::int8[]), unnest($3::int8[])) AS relay_scan (slice, low, high)
LEFT JOIN LATERAL (
    SELECT coalesce(min(id) FILTER (WHERE number <= {window} AND ours),
                    max(id) FILTER (WHERE number > {window})) AS lowest,
           max(id) FILTER (WHERE number = {window}) AS last
    FROM (
        SELECT {id} AS id, row_number() OVER () AS number, ($5::int8 = 0 OR coalesce($5::int8 >> ({sink}), 0) & 1
            = 0) AS ours
        FROM (
            SELECT *
            FROM {outbox}
            WHERE {id} >= CASE WHEN (SELECT running FROM held) THEN relay_scan.high ELSE relay_scan.low END
              AND {unsent} AND {is_not_noted}
            ORDER BY {outbox_name}.{id} LIMIT {window} + 1
        ) {outbox_name}
    ) numbered
) found ON $5::int8 IS NOT NULL
