-- use: desk remember_loss
-- Keeps, until `audit` has looked, that a broker may have lost what it had acknowledged, and forgets what it had
-- acknowledged. Of several losses of a destination the last one is told, since the earliest time of all of them.
-- $1 json an object: name, sink, destination ("": all of the sink), text, since (a time, or null: ever).
WITH lost AS (
    SELECT $1::json AS about
), gone AS (
    DELETE FROM {control} USING lost
    WHERE kind = 'setting' AND name LIKE 'acknowledged %' AND value::json ->> 'sink' = about ->> 'sink'
        AND (about ->> 'destination') IN ('', value::json ->> 'destination')
), before AS (
    DELETE FROM {control} USING lost
    WHERE kind = 'setting' AND name = 'lost ' || (about ->> 'name')
    RETURNING value::json ->> 'since' AS since
)
INSERT INTO {control} (kind, name, value)
SELECT 'setting', 'lost ' || (about ->> 'name'),
       (about::jsonb || jsonb_build_object('since', CASE
           WHEN (SELECT count(*) FROM before) = 0 THEN about ->> 'since'
           WHEN EXISTS (SELECT FROM before WHERE since IS NULL) THEN NULL
           ELSE least(about ->> 'since', (SELECT since FROM before)) END))::text
FROM lost
ON CONFLICT DO NOTHING
