-- use: desk partition_to_make if partitioned
-- Where relays make partitions (`init --partitions`): the ids of the next one, the first and the one after the last
-- (NULL: enough are ahead); the highest id drawn; and how many are ahead. Enough are those that last for ten rounds
-- like the last one. Rows whose ids have run ahead of all partitions lie in the default one: the next partition begins
-- behind what is drawn while it is made, and where there are no rows.
-- $1 int8 the highest id drawn a round ago; NULL: not known.
WITH wanted AS (
    SELECT rows, coalesce(pg_sequence_last_value(oid), 0) AS drawn
    FROM (SELECT value::int8 AS rows FROM {control} WHERE kind = 'setting' AND name = 'partition rows') kept,
         ({id_sequence}) drawn
), ahead AS (
    SELECT coalesce(max(end_id), 0) AS end_id, count(*) FILTER (WHERE first_id > drawn) AS empty,
           coalesce(bool_or(end_id IS NULL AND NOT is_default), false) AS is_open
    FROM wanted, {partitions}
)
SELECT first_id, first_id + rows AS end_id, drawn, empty
FROM wanted,
     ahead,
     LATERAL (
         SELECT CASE WHEN ahead.end_id > drawn THEN ahead.end_id ELSE (drawn / rows + 2) * rows END AS next_id
     ) next
LEFT JOIN LATERAL (
    SELECT next_id + place * rows AS first_id
    FROM generate_series(0, 100) place
    WHERE NOT is_open AND (empty < {partitions_ahead} OR ahead.end_id - drawn < 10 * (drawn - $1::int8))
      AND next_id::numeric + (place + 1) * rows <= 9223372036854775807
      AND NOT EXISTS (
          SELECT FROM {outbox} WHERE {id} >= next_id + place * rows AND {id} < next_id + (place + 1) * rows)
    ORDER BY place LIMIT 1
) free ON true
