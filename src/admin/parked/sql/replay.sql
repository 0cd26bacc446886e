-- use: parked replay if marking has_sent_at
-- Copies sent rows into the parked table, due at once, in one step of `replay`. Returns the number of rows, the last id
-- that was looked at (NULL: there are no more), and the last one that was copied.
-- NULL for any: $1 text the last id of the step before; $2 timestamptz the earliest sent_at; $4 text the topic; $5 text
-- a regular expression for the topic; $6 text an array of ids, $8 of keys. $3 timestamptz sent
-- before; $7 int4 the most rows.
WITH {replay_chosen}, sent_rows AS (
    SELECT {moved_columns}, {more_headers} AS more_headers, NULL::text AS raw, {identity} AS identity
    FROM {outbox}
    WHERE ctid = ANY (ARRAY(SELECT place FROM chosen WHERE NOT parked))
    UNION ALL
    SELECT {moved_names}, more_headers, raw, identity FROM {parked} WHERE ctid = ANY (ARRAY(SELECT place
        FROM chosen WHERE parked))
), copies AS (
    INSERT INTO {parked} (state, due, error, replayed_at, {moved_names}, more_headers, raw, identity)
    SELECT CASE WHEN is_tried THEN 'retry' ELSE 'behind' END, CASE WHEN is_tried THEN clock_timestamp() END,
           'replayed', now(), {moved_names}, more_headers, raw, identity
    FROM (
        SELECT *,
        {if keyed}
        (key IS NULL OR row_number() OVER (PARTITION BY {if key_is_bytes}encode(key,
            'hex'){else}key::text{end} ORDER BY id) = 1) AND {is_head}
        {else}
        true
        {end}
         AS is_tried FROM (SELECT *, 9223372036854775807 AS seq FROM sent_rows) head
    ) copied
    ORDER BY id
    RETURNING 1
)
SELECT (SELECT count(*) FROM copies), CASE WHEN (SELECT count(*) FROM chosen) >= $7::int4
     THEN (SELECT id::text FROM chosen ORDER BY chosen.id DESC LIMIT 1)
     ELSE (SELECT id::text FROM edge) END,
(SELECT id::text FROM chosen ORDER BY chosen.id DESC LIMIT 1)
