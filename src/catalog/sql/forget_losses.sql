-- use: desk forget_losses
-- Ends the warning of the losses that an audit has looked into. Where it found events missing, what was sent since then
-- is kept from purges for another day (lost_age.sql), so that it can be sent again; so does each later audit that finds
-- events missing within that day.
-- $1 text[] the sinks that it has read; $2 int8 when it began and $3 int8 the moment of --since (0: ever), in ms since
-- 1970; $4 bool whether events are missing.
WITH ended AS (
    DELETE FROM {control}
    WHERE kind = 'setting' AND set_at <= to_timestamp($2::int8 / 1000.0) AND (
        name LIKE 'lost %' AND value::json ->> 'sink' = ANY ($1::text[])
            AND ($3::int8 = 0 OR to_timestamp($3::int8 / 1000.0) <= (value::json ->> 'since')::timestamptz)
        OR name LIKE 'audited %' AND (
            set_at < clock_timestamp() - interval '1 day' OR $4::bool AND value::json ->> 'sink' = ANY ($1::text[])))
    RETURNING name, value, set_at
)
INSERT INTO {control} (kind, name, value)
SELECT 'setting', 'audited ' || $2::int8 || regexp_replace(name, '^(lost|audited [0-9]+)', ''), value
FROM ended
WHERE $4::bool AND (name LIKE 'lost %' OR set_at >= clock_timestamp() - interval '1 day')
ON CONFLICT DO NOTHING
