-- Marks one unsent row and says whether it is then out of `where`; NULL: there is no unsent row. It is rolled back.
WITH row AS MATERIALIZED (
    SELECT ctid AS relay_row FROM {outbox} WHERE {unsent} LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
), touched AS (
    UPDATE {outbox} SET {mark}
    WHERE ctid = ANY (ARRAY(SELECT relay_row FROM row))
    RETURNING ({unsent}) IS NOT TRUE AS settled
)
SELECT bool_and(settled) FROM touched
