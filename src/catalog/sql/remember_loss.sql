-- Keeps, until `audit` has looked, that a broker may have lost what it had acknowledged. The first loss of a
-- destination stays.
-- $1 json an object: name, sink, text, since (a time, or null: ever).
INSERT INTO {control} (kind, name, value)
VALUES ('setting', 'lost ' || ($1::json ->> 'name'), $1::json::text)
ON CONFLICT DO NOTHING
