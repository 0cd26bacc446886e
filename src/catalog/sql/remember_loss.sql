-- Keeps, until `audit` has looked, that a broker may have lost what it had acknowledged, and forgets what it had
-- acknowledged. The first loss of a destination stays.
-- $1 json an object: name, sink, destination ("": all of the sink), text, since (a time, or null: ever).
WITH lost AS (
    SELECT $1::json AS about
), gone AS (
    DELETE FROM {control} USING lost
    WHERE kind = 'setting' AND name LIKE 'acknowledged %' AND value::json ->> 'sink' = about ->> 'sink'
        AND (about ->> 'destination') IN ('', value::json ->> 'destination')
)
INSERT INTO {control} (kind, name, value)
SELECT 'setting', 'lost ' || (about ->> 'name'), about::text FROM lost
ON CONFLICT DO NOTHING
