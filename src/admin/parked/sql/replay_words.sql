-- The rows that ids and event ids of any type name: those that name no sent row, or one that names several, as text for
-- an error (NULL: each names one), and the ids of the rows and their keys (replay_chosen.sql) as arrays.
-- $1 text[] the ids.
WITH relay_wanted AS (
    SELECT DISTINCT relay_word FROM unnest($1::text[]) AS w (relay_word)
), hits AS MATERIALIZED (
    SELECT {id} AS id, relay_word, {event_of_reused} AS event, {row_key} AS row_key
    FROM {outbox} JOIN relay_wanted ON {id}::text = {word_as:id}
    WHERE {sent_at} IS NOT NULL AND {where_of_sent}
    UNION
    SELECT {id} AS id, relay_word, {event_id}::text, {row_key}
    FROM {outbox} JOIN relay_wanted ON {event_id}::text = {word_as:event_id}
    WHERE {sent_at} IS NOT NULL AND {where_of_sent}
    UNION
    SELECT id, relay_word, event_id::text, {parked_row_key} FROM {parked} JOIN relay_wanted ON id::text = {word_as:id}
    WHERE {is_parked_sent}
    UNION
    SELECT id, relay_word, event_id::text, {parked_row_key}
    FROM {parked} JOIN relay_wanted ON event_id::text = {word_as:event_id}
    WHERE {is_parked_sent}
), missing AS (
    SELECT relay_word FROM relay_wanted WHERE relay_word NOT IN (SELECT relay_word FROM hits)
)
SELECT coalesce({several_hits}, {missing_as_text}), (SELECT array_agg(DISTINCT id)::text FROM hits),
       (SELECT array_agg(DISTINCT row_key)::text FROM hits)
