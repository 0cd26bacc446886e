-- The rows that ids name, all of them integers: those that name no sent row, as text for an error (NULL: all do), and
-- the ids of the rows as an array. The index on the id is used.
-- $1 text[] the ids.
WITH wanted AS (
    SELECT DISTINCT word FROM unnest($1::text[]) AS w (word)
), hits AS MATERIALIZED (
    SELECT {id} AS id, word FROM {outbox} JOIN wanted ON {id} = word::int8
    WHERE {sent_at} IS NOT NULL AND {where_of_sent}
    UNION
    SELECT id, word FROM {parked} JOIN wanted ON id = word::int8 WHERE {is_parked_sent}
), missing AS (
    SELECT word FROM wanted WHERE word NOT IN (SELECT word FROM hits)
)
SELECT {missing_as_text}, (SELECT array_agg(DISTINCT id)::text FROM hits)
