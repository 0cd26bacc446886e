-- Forgets the losses that an audit has looked into, and those of sinks that are no longer configured.
-- $1 text[] the sinks that it has read; $2 int8 when it began and $3 int8 the moment of --since (0: ever), in ms since
-- 1970; $4 text[] the sinks of the configuration, NULL: one sink was asked for.
DELETE FROM {control}
WHERE kind = 'setting' AND name LIKE 'lost %' AND set_at <= to_timestamp($2::int8 / 1000.0)
    AND (value::json ->> 'sink' <> ALL ($4::text[])
         OR (value::json ->> 'sink' = ANY ($1::text[])
             AND ($3::int8 = 0 OR to_timestamp($3::int8 / 1000.0) <= (value::json ->> 'since')::timestamptz)))
