-- use: desk replay_ids if keeps_sent has_sent_at integer_ids with $ids $numbers
-- use: desk replay_words if keeps_sent has_sent_at with $ids
-- The rows that ids and event ids of any type name, or ids alone, all of them integers: then the index on the id is
-- used. An id that names no sent row, or several, is an error. Returns the ids of the rows and their keys (replay.sql)
-- as arrays.
{if $ids}
WITH relay_wanted AS (
    SELECT DISTINCT relay_word FROM unnest({$ids}::text[]) AS w (relay_word)
), hits AS MATERIALIZED (
    SELECT {id} AS id, relay_word,
           CASE WHEN {id} IN (SELECT id FROM {parked} WHERE sent_at IS NOT NULL AND replayed_at IS NULL)
                THEN {event_id}::text END AS event,
           ({id}::text || ' ' || {identity}) AS row_key
    FROM {outbox}
    {if $numbers}
    JOIN relay_wanted ON {id} = relay_word::int8
    {else}
    JOIN relay_wanted ON {id}::text = {if id_is_uuid}lower(relay_word){else}relay_word{end}
    {end}
    WHERE {sent_time} IS NOT NULL AND {was_sent} AND {id} IS NOT NULL
    {if !$numbers}
    UNION
    SELECT {id} AS id, relay_word, {event_id}::text, ({id}::text || ' ' || {identity})
    FROM {outbox}
    JOIN relay_wanted ON {event_id}::text = {if event_id_is_uuid}lower(relay_word){else}relay_word{end}
    WHERE {sent_time} IS NOT NULL AND {was_sent} AND {id} IS NOT NULL
    {end}
    UNION
    SELECT id, relay_word, event_id::text, (id::text || ' ' || coalesce(identity, '@' || seq))
    FROM {parked}
    {if $numbers}
    JOIN relay_wanted ON id = relay_word::int8
    {else}
    JOIN relay_wanted ON id::text = {if id_is_uuid}lower(relay_word){else}relay_word{end}
    {end}
    WHERE sent_at IS NOT NULL AND replayed_at IS NULL
    {if !$numbers}
    UNION
    SELECT id, relay_word, event_id::text, (id::text || ' ' || coalesce(identity, '@' || seq))
    FROM {parked}
    JOIN relay_wanted ON event_id::text = {if event_id_is_uuid}lower(relay_word){else}relay_word{end}
    WHERE sent_at IS NOT NULL AND replayed_at IS NULL
    {end}
), missing AS (
    SELECT relay_word FROM relay_wanted WHERE relay_word NOT IN (SELECT relay_word FROM hits)
)
SELECT coalesce(
           (SELECT 'id "' || left(relay_word, 64) || '" names ' || count(DISTINCT row_key)
                   || ' rows: give the event id ' || string_agg(DISTINCT '"' || left(event, 64) || '"', ' or ')
                   || '; nothing was done'
            FROM hits GROUP BY relay_word HAVING count(DISTINCT event) > 1 ORDER BY 1 LIMIT 1),
           (SELECT 'no row that has been sent has the id '
                   || string_agg('"' || left(relay_word, 64) || '"', ' or ' ORDER BY relay_word) || ': nothing was done'
            FROM (SELECT relay_word FROM missing ORDER BY relay_word LIMIT 5) few)) AS desk_refused,
       (SELECT array_agg(DISTINCT id)::text FROM hits) AS rows,
       (SELECT array_agg(DISTINCT row_key)::text FROM hits) AS keys
{else}
SELECT CASE WHEN coalesce({$topic}::text, {$topic_regex}::text, {$since}::text) IS NULL THEN 'no rows are chosen' END
           AS desk_refused,
       NULL AS rows, NULL AS keys
{end}
