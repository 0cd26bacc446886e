-- use: desk events
-- The oldest unsent rows with the values that would leave, of columns and of expressions. An owner reads and runs this
-- in psql; relays do not. more_headers has names and values of [outbox.headers]; a row is not sent before not_before.
SELECT {id} AS id, {event_id} AS event_id, {topic} AS topic, {key} AS key, {type} AS type, {created_at} AS created_at,
       {headers} AS headers,
       {if computed}
       ARRAY(SELECT encode(value, 'escape') FROM unnest({more_headers}) value) AS more_headers,
       {not_before} AS not_before,
       {end}
       {payload} AS payload
FROM {outbox}
WHERE {unsent}
ORDER BY {outbox_name}.{id} LIMIT 100
