-- use: lane topics
-- Computes the topic of each unsent row of the slices from their bounds on, and returns each row before that. The rows
-- are read one by one, so that the last row before an error is the one whose topic cannot be computed. With order =
-- "none" the whole table is slice 0, and the rows are those of scan.sql; ids that are no integers have no bounds.
-- $1 int4[] slices; $2 int8[] their low bounds; $3 int8[] their high bounds, used while all long holders $4 xid8[] are
-- running in the snapshot; $5 int8 a bit for each sink that is away. Without bounds: $1 int8 that alone.
{if integer_ids}
WITH held AS MATERIALIZED (
    SELECT (SELECT {are_running} FROM (SELECT $4::xid8[] AS xids) holders) AS running
)
SELECT relay_scan.slice, computed.relay_row, computed.relay_ours
FROM ROWS FROM (unnest($1::int4[]), unnest($2::int8[]), unnest($3::int8[])) AS relay_scan (slice, low, high),
     LATERAL (
         {if by_slice}
         SELECT {outbox_name}.ctid AS relay_row, relay_judged.relay_ours
         FROM {outbox},
              LATERAL (
                  SELECT NULL::bool AS relay_ours
                  UNION ALL
                  SELECT ($5::int8 = 0 OR coalesce($5::int8 >> ({sink}), 0) & 1 = 0)
              ) relay_judged
         WHERE ({slice_of_row}, {id}) >= (
                   relay_scan.slice, CASE WHEN (SELECT running FROM held) THEN relay_scan.high ELSE relay_scan.low END)
           AND {slice_of_row} < relay_scan.slice + 1
           AND {unsent} AND {is_not_noted}
         ORDER BY {slice_of_row}, {outbox_name}.{id}
         {else}
         SELECT relay_row, relay_judged.relay_ours
         FROM (
             SELECT ctid AS relay_row, *
             FROM {outbox}
             WHERE {id} >= CASE WHEN (SELECT running FROM held) THEN relay_scan.high ELSE relay_scan.low END
               AND {unsent} AND {is_not_noted}
             ORDER BY {outbox_name}.{id} LIMIT {window} + 1
         ) {outbox_name},
              LATERAL (
                  SELECT NULL::bool AS relay_ours
                  UNION ALL
                  SELECT ($5::int8 = 0 OR coalesce($5::int8 >> ({sink}), 0) & 1 = 0)
              ) relay_judged
         {end}
     ) computed
{else}
SELECT 0 AS slice, {outbox_name}.ctid AS relay_row, relay_judged.relay_ours
FROM {outbox},
     LATERAL (
         SELECT NULL::bool AS relay_ours
         UNION ALL
         SELECT ($1::int8 = 0 OR coalesce($1::int8 >> ({sink}), 0) & 1 = 0)
     ) relay_judged
WHERE {unsent} AND {is_not_noted}
{end}
