-- Copies sent rows into the parked table, due at once, in one step of `replay`. Returns the number of rows, the last id
-- that was looked at (NULL: there are no more), and the last one that was copied.
-- NULL for any: $1 text the last id of the step before; $2 timestamptz the earliest sent_at; $4 text the topic; $5 text
-- a regular expression for the topic; $6 text an array of ids. $3 timestamptz sent before; $7 int4 the most rows.
WITH {replay_chosen}, sent_rows AS (
    SELECT {moved_columns}, {more_headers} AS more_headers, NULL::text AS raw
    FROM {outbox}
    WHERE ctid = ANY (ARRAY(SELECT place FROM chosen WHERE NOT parked))
    UNION ALL
    SELECT {carried_names} FROM {parked} WHERE ctid = ANY (ARRAY(SELECT place FROM chosen WHERE parked))
), copies AS (
    INSERT INTO {parked} (state, due, error, replayed_at, {carried_names})
    SELECT CASE WHEN is_tried THEN 'retry' ELSE 'behind' END, CASE WHEN is_tried THEN clock_timestamp() END,
           'replayed', now(), {carried_names}
    FROM (
        SELECT *, {replay_is_tried} AS is_tried FROM (SELECT *, {last_seq} AS seq FROM sent_rows) head
    ) copied
    ORDER BY id
    RETURNING 1
)
SELECT (SELECT count(*) FROM copies), {replay_places}
