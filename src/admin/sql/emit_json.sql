-- use: desk emit_json if emits
-- Inserts an event. PostgreSQL parses the line, so that no digit of a number is lost. Where the role may read them,
-- RETURNING the event's ids is appended.
-- $1 jsonb an object of topic, key, type, payload and headers.
INSERT INTO {outbox} ({emitted_columns})
SELECT {emitted_values} FROM (SELECT $1::jsonb AS line) input
