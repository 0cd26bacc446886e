-- use: desk replay if keeps_sent has_sent_at with changed
-- use: desk replay_count if keeps_sent has_sent_at
-- One step of `replay`: copies sent rows into the parked table, due at once; or counts what it would copy. Returns the
-- number of rows, the last id that was looked at (NULL: there are no more), and the last one that was copied; for a dry
-- run also a line for each of its first ten rows: id, sent_at, topic.
--
-- "chosen" are the rows that the step copies, in the order of the ids: rows of the outbox, and rows that had been
-- parked before they were sent; any other row has been purged. "edge" is the last row of the outbox that it looks at
-- when there may be more, so that no step takes long. Rows of one id are chosen in one step, and a row that an id names
-- is known by its key: the id and the identity.
--
-- The parameters are NULL for any: "place" is the last id of the step before, "rows" are ids, "keys" are keys, and
-- "step" is how many rows are copied at most.
WITH looked AS MATERIALIZED (
    SELECT ctid AS place, {id} AS id, {sent_time} AS sent_at, {topic} AS topic
    FROM {outbox}
    WHERE ({$place}::text IS NULL OR {id} > {$place}::text::{id_type})
      AND ({$rows}::text IS NULL OR {id} = ANY ({$rows}::text::{id_type}[]))
      AND ({$keys}::text IS NULL OR ({id}::text || ' ' || {identity}) = ANY ({$keys}::text::text[]))
      AND {was_sent} AND {id} IS NOT NULL
    ORDER BY 2 LIMIT {looked_rows}
), edge AS MATERIALIZED (
    SELECT id FROM looked ORDER BY id OFFSET {looked_rows} - 1 LIMIT 1
), chosen AS MATERIALIZED (
    SELECT *
    FROM (
        SELECT *, rank() OVER (ORDER BY id) AS relay_rank
        FROM (
            SELECT false AS parked, place, id, sent_at, topic::text AS topic
            FROM looked
            WHERE ({$since}::timestamptz IS NULL OR sent_at >= {$since}::timestamptz)
              AND sent_at < {$until}::timestamptz
              AND ({$topic}::text IS NULL OR topic::text = {$topic}::text)
              AND ({$topic_regex}::text IS NULL OR topic::text ~ {$topic_regex}::text)
            UNION ALL
            SELECT true, ctid, id, sent_at, topic::text
            FROM {parked}
            WHERE sent_at IS NOT NULL AND replayed_at IS NULL
              AND ({$place}::text IS NULL OR id > {$place}::text::{id_type})
              AND ({$rows}::text IS NULL OR id = ANY ({$rows}::text::{id_type}[]))
              AND ({$keys}::text IS NULL
                   OR (id::text || ' ' || coalesce(identity, '@' || seq)) = ANY ({$keys}::text::text[]))
              AND (NOT EXISTS (SELECT FROM edge) OR id <= (SELECT id FROM edge))
              AND ({$since}::timestamptz IS NULL OR sent_at >= {$since}::timestamptz)
              AND sent_at < {$until}::timestamptz
              AND ({$topic}::text IS NULL OR topic::text = {$topic}::text)
              AND ({$topic_regex}::text IS NULL OR topic::text ~ {$topic_regex}::text)
        ) candidates
    ) ranked
    WHERE relay_rank <= coalesce({$step}::int4, {looked_rows})
){if changed}, sent_rows AS (
    SELECT {moved_columns}, {more_headers} AS more_headers, NULL::text AS raw, {identity} AS identity
    FROM {outbox}
    {if partitioned}
    WHERE {id} = ANY (ARRAY(SELECT id FROM chosen WHERE NOT parked))
    {else}
    WHERE ctid = ANY (ARRAY(SELECT place FROM chosen WHERE NOT parked))
    {end}
    UNION ALL
    SELECT {moved_names}, more_headers, raw, identity
    FROM {parked}
    WHERE ctid = ANY (ARRAY(SELECT place FROM chosen WHERE parked))
), copies AS (
    INSERT INTO {parked} (state, due, error, replayed_at, {moved_names}, more_headers, raw, identity)
    SELECT CASE WHEN is_tried THEN 'retry' ELSE 'behind' END, CASE WHEN is_tried THEN clock_timestamp() END,
           'replayed', now(), {moved_names}, more_headers, raw, identity
    FROM (
        SELECT *,
               {if keyed}
               (key IS NULL OR row_number() OVER (PARTITION BY {key_text} ORDER BY id) = 1) AND {is_head} AS is_tried
               {else}
               true AS is_tried
               {end}
        FROM (SELECT *, 9223372036854775807 AS seq FROM sent_rows) head
    ) copied
    ORDER BY id
    RETURNING 1
)
SELECT (SELECT count(*) FROM copies) AS desk_count,
       CASE WHEN (SELECT count(*) FROM chosen) >= coalesce({$step}::int4, {looked_rows})
            THEN (SELECT id::text FROM chosen ORDER BY chosen.id DESC LIMIT 1)
            ELSE (SELECT id::text FROM edge) END AS desk_next,
       (SELECT id::text FROM chosen ORDER BY chosen.id DESC LIMIT 1) AS desk_last
{else}
SELECT desk_count, desk_next, line
FROM (
    SELECT (SELECT count(*) FROM chosen) AS desk_count,
           CASE WHEN (SELECT count(*) FROM chosen) >= {looked_rows}
                THEN (SELECT id::text FROM chosen ORDER BY chosen.id DESC LIMIT 1)
                ELSE (SELECT id::text FROM edge) END AS desk_next
) counted
LEFT JOIN (
    SELECT id::text || '  sent ' || to_char(sent_at::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
           || '  ' || left(topic, 256) AS line
    FROM chosen
    WHERE {$dry_run}::text IS NOT NULL
    ORDER BY chosen.id LIMIT 10
) shown ON true
{end}
