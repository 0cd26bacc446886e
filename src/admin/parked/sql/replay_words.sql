-- The rows that ids and event ids of any type name: those that name no sent row, as text for an error (NULL: all do),
-- and the ids of the rows as an array.
-- $1 text[] the ids.
WITH relay_wanted AS (
    SELECT DISTINCT relay_word FROM unnest($1::text[]) AS w (relay_word)
), hits AS MATERIALIZED (
    SELECT {id} AS id, relay_word FROM {outbox} JOIN relay_wanted ON {id}::text = {word_as:id}
    WHERE {sent_at} IS NOT NULL AND {where_of_sent}
    UNION
    SELECT {id} AS id, relay_word FROM {outbox} JOIN relay_wanted ON {event_id}::text = {word_as:event_id}
    WHERE {sent_at} IS NOT NULL AND {where_of_sent}
    UNION
    SELECT id, relay_word FROM {parked} JOIN relay_wanted ON id::text = {word_as:id} WHERE {is_parked_sent}
    UNION
    SELECT id, relay_word FROM {parked} JOIN relay_wanted ON event_id::text = {word_as:event_id} WHERE {is_parked_sent}
), missing AS (
    SELECT relay_word FROM relay_wanted WHERE relay_word NOT IN (SELECT relay_word FROM hits)
)
SELECT {missing_as_text}, (SELECT array_agg(DISTINCT id)::text FROM hits)
