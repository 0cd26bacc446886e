-- use: lane scan if integer_ids
-- For each slice: its lowest unsent id from its bound on (NULL: none), whether the high bound was used, and NULL. With
-- order = "none" the whole table is slice 0. While sinks are away, the scan then ends after {window} unsent rows of any
-- sink. The last column is the id of the last of them (NULL: there are fewer). When none of them may be claimed,
-- "lowest" is the id of the first row after the window, which has the number {window} + 1.
-- A slice in which a row of before the numbers has none yet (numbers.c) keeps its bound at the start.
-- $1 int4[] slices; $2 int8[] their low bounds; $3 int8[] their high bounds, used while all long holders $4 xid8[] are
-- running in the snapshot; $5 int8 a bit for each sink whose rows are ignored.
WITH held AS MATERIALIZED (
    SELECT (SELECT {are_running} FROM (SELECT $4::xid8[] AS xids) holders) AS running
)
SELECT relay_scan.slice,
       {if numbered}
       CASE WHEN NOT {numbers_are_noted}
                 AND EXISTS (SELECT FROM {outbox}
                             WHERE {slice_of_row} = relay_scan.slice AND {id} IS NULL AND {unsent})
            THEN '-9223372036854775808'::int8 ELSE found.lowest END AS lowest,
       {else}
       found.lowest,
       {end}
       (SELECT running FROM held) AS read_high,
       {if by_slice}NULL{else}found.last{end} AS window_end
FROM ROWS FROM (unnest($1::int4[]), unnest($2::int8[]), unnest($3::int8[])) AS relay_scan (slice, low, high)
LEFT JOIN LATERAL (
    {if by_slice}
    SELECT lowest
    FROM
        {if position}
        (SELECT relay_scan.slice AS relay_slice) relay_row,
        {progress_at},
        {end}
        LATERAL (
            SELECT {id} AS lowest
            FROM {outbox}
            WHERE ({slice_of_row}, {id}) >= (
                      relay_scan.slice, {if position}greatest(relay_from, {end}CASE WHEN (SELECT running FROM held)
                          THEN relay_scan.high ELSE relay_scan.low END{if position}){end})
              AND {slice_of_row} < relay_scan.slice + 1
              {if partitioned}
              AND {id} >= relay_from
              {end}
              AND {if position}{is_unsent_at}{else}{unsent}{end}
              AND CASE WHEN {is_not_noted} THEN ($5::int8 = 0 OR coalesce($5::int8 >> ({sink}), 0) & 1 = 0) END
            ORDER BY {slice_of_row}, {outbox_name}.{id} LIMIT 1
        ) first
    {else}
    SELECT coalesce(min(id) FILTER (WHERE number <= {window} AND ours),
                    max(id) FILTER (WHERE number > {window})) AS lowest,
           max(id) FILTER (WHERE number = {window}) AS last
    FROM (
        SELECT {id} AS id, row_number() OVER () AS number,
               ($5::int8 = 0 OR coalesce($5::int8 >> ({sink}), 0) & 1 = 0) AS ours
        FROM (
            SELECT *
            FROM {outbox}
            WHERE {id} >= CASE WHEN (SELECT running FROM held) THEN relay_scan.high ELSE relay_scan.low END
              AND {unsent} AND {is_not_noted}
            ORDER BY {outbox_name}.{id} LIMIT {window} + 1
        ) {outbox_name}
    ) numbered
    {end}
) found ON $5::int8 IS NOT NULL
