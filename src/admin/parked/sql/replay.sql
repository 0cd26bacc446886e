-- Copies sent rows into the parked table, due at once, in one step of `replay`. Returns the number of rows and the
-- places.
-- The parameters are those of replay_chosen.sql.
WITH {replay_chosen}, sent_rows AS (
    SELECT {moved_columns} FROM {outbox} WHERE ctid = ANY (ARRAY(SELECT place FROM chosen WHERE NOT parked))
    UNION ALL
    SELECT {moved_names} FROM {parked} WHERE ctid = ANY (ARRAY(SELECT place FROM chosen WHERE parked))
), copies AS (
    INSERT INTO {parked} (state, due, error, replayed_at, {moved_names})
    SELECT CASE WHEN is_tried THEN 'retry' ELSE 'behind' END, CASE WHEN is_tried THEN clock_timestamp() END,
           'replayed', now(), {moved_names}
    FROM (SELECT *, {replay_due} AS is_tried FROM sent_rows head) copied
    ORDER BY id
    RETURNING 1
)
SELECT (SELECT count(*) FROM copies), {replay_places}
