-- Parks one unsent row in its place and says whether it is then out of `where`; NULL: there is no unsent row. It is
-- rolled back.
-- $1 text the state in which it is parked.
WITH row AS MATERIALIZED (
    SELECT ctid AS relay_row FROM {outbox} WHERE {unsent} LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
), touched AS (
    UPDATE {outbox} SET {park}
    FROM (SELECT 'tried'::text AS relay_error, 1 AS relay_attempts, $1::text AS relay_state) relay_given
    WHERE {outbox_name}.ctid = ANY (ARRAY(SELECT relay_row FROM row))
    RETURNING ({unsent}) IS NOT TRUE AS settled
)
SELECT bool_and(settled) FROM touched
