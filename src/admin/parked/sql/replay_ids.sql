-- use: parked replay_ids if marking has_sent_at integer_ids
-- The rows that ids name, all of them integers: those that name no sent row, or one that names several, as text for an
-- error (NULL: each names one), and the ids of the rows and their keys (replay_chosen.sql) as arrays. The index on the
-- id is used.
-- $1 text[] the ids.
WITH relay_wanted AS (
    SELECT DISTINCT relay_word FROM unnest($1::text[]) AS w (relay_word)
), hits AS MATERIALIZED (
    SELECT {id} AS id, relay_word, CASE WHEN {id} IN (SELECT id FROM {parked} WHERE sent_at IS NOT NULL
        AND replayed_at IS NULL) THEN {event_id}::text END AS event, ({id}::text || ' ' || {identity}) AS row_key
    FROM {outbox} JOIN relay_wanted ON {id} = relay_word::int8
    WHERE {sent_at} IS NOT NULL AND
    {if own_mark}
    {where} IS NOT TRUE AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition')
    {else}
    {where}
    {if !own_table}
     AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition')
    {end}
    {end}
    UNION
    SELECT id, relay_word, event_id::text, (id::text || ' ' || coalesce(identity, '@' || seq))
        FROM {parked} JOIN relay_wanted ON id = relay_word::int8
    WHERE sent_at IS NOT NULL AND replayed_at IS NULL
), missing AS (
    SELECT relay_word FROM relay_wanted WHERE relay_word NOT IN (SELECT relay_word FROM hits)
)
SELECT coalesce((SELECT 'id "' || left(relay_word, 64) || '" names ' || count(DISTINCT row_key)
    || ' rows: give the event id '
        || string_agg(DISTINCT '"' || left(event, 64) || '"', ' or ')
 FROM hits GROUP BY relay_word HAVING count(DISTINCT event) > 1 ORDER BY 1 LIMIT 1), (SELECT string_agg('"'
     || left(relay_word, 64) || '"', ' or ' ORDER BY relay_word)
  FROM (SELECT relay_word FROM missing ORDER BY relay_word LIMIT 5) few)), (SELECT array_agg(DISTINCT id)::text
      FROM hits),
       (SELECT array_agg(DISTINCT row_key)::text FROM hits)
