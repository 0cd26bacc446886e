-- use: lane position_anew if by_slice position
-- Adapts the positions to ids that may begin anew. The slices are locked. In the same cluster the claims begin at the
-- first row again: those that the last snapshot shows are sent, and a row that was given a lower id since is not. In
-- another cluster, into which the tables were restored, the snapshots say nothing: what lies below the low ids is sent.
-- Returns a row for each slice that has a position.
-- $1 text the identity of the cluster.
WITH before AS MATERIALIZED (
    SELECT split_part(value, ' ', 3) = $1::text AS is_same
    FROM {control} WHERE kind = 'setting' AND name = 'position'
), moved AS (
    INSERT INTO {progress} (slice, top, number, low, ends, snapshots)
    SELECT relay_slice, relay_top, relay_number + 1,
           CASE WHEN is_same THEN '-9223372036854775808'::int8 ELSE relay_from END,
           CASE WHEN is_same THEN relay_ends ELSE '{}' END,
           CASE WHEN is_same THEN relay_snapshots ELSE '{}' END
    FROM before, generate_series(0, {slices} - 1) relay_slices (relay_slice), {progress_at}
    WHERE relay_number > 0
    RETURNING 1
), ended AS (
    DELETE FROM {control} WHERE kind = 'setting' AND name = 'position' RETURNING 1
), noted AS (
    INSERT INTO {control} (kind, name, value)
    SELECT 'setting', 'position', ({position_nodes}) || ' ' || $1::text
    FROM (SELECT count(*) FROM ended) ended
    RETURNING 1
)
SELECT FROM moved WHERE (SELECT count(*) FROM noted) > 0
