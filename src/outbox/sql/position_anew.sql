-- use: lane position_anew if by_slice position
-- Adapts the positions to ids that may begin anew. The slices are locked. In the same cluster the claims begin at the
-- first row again: those that the last snapshot shows are sent, and a row that was given a lower id since is not. In
-- another cluster, into which the tables were restored, the snapshots say nothing: what lies below the low ids is sent,
-- as from now on a snapshot says. The setting has the highest of them, because those rows may have higher numbers of
-- transactions than this cluster.
-- Older progress is about other ids, and goes. Partitions are noted as they are. The number of the transaction makes
-- the setting another one each time: all lanes have to notice.
-- Returns a row for each slice that has a position.
-- $1 text the identity of the cluster.
WITH before AS MATERIALIZED (
    SELECT coalesce((
               SELECT split_part(value, ' ', 3) = $1::text
               FROM {control} WHERE kind = 'setting' AND name = 'position'), false) AS is_same,
           (SELECT max(relay_from) FROM generate_series(0, {slices} - 1) relay_slices (relay_slice), {progress_at})
               AS relay_highest
), older AS (
    DELETE FROM {progress} RETURNING 1
), moved AS (
    INSERT INTO {progress} (slice, top, number, low, ends, snapshots)
    SELECT relay_slice, relay_top, relay_number + 1,
           CASE WHEN is_same THEN '-9223372036854775808'::int8 ELSE relay_from END,
           CASE WHEN is_same THEN relay_ends WHEN relay_is_passed THEN ARRAY[relay_from - 1] ELSE '{}' END,
           CASE WHEN is_same THEN relay_snapshots WHEN relay_is_passed THEN ARRAY[pg_current_snapshot()] ELSE '{}' END
    FROM before, generate_series(0, {slices} - 1) relay_slices (relay_slice), {progress_at},
         LATERAL (SELECT relay_from > '-9223372036854775808'::int8 AS relay_is_passed) passed
    WHERE relay_number > 0
    RETURNING 1
), ended AS (
    DELETE FROM {control}
    WHERE kind = 'setting' AND (name = 'position'{if partitioned} OR name ~ '^partition [0-9]+$'{end}) RETURNING 1
), noted AS (
    INSERT INTO {control} (kind, name, value)
    SELECT 'setting', 'position', ({position_nodes}) || ' ' || $1::text || ' '
           || CASE WHEN is_same THEN '' ELSE coalesce(relay_highest::text, '') END || ' ' || pg_current_xact_id()
    FROM before, (SELECT count(*) FROM ended) ended, (SELECT count(*) FROM older) older
    {if partitioned}
    UNION ALL
    SELECT 'setting', 'partition ' || oid,
           jsonb_build_object('name', quoted, 'first', first_id, 'end', end_id)::text
    FROM {partitions}, (SELECT count(*) FROM ended) ended
    {end}
    RETURNING 1
)
SELECT FROM moved WHERE (SELECT count(*) FROM noted) > 0
