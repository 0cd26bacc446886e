-- use: desk lost_age
-- For how long, in ms, a broker may have lost what it had acknowledged, as far as no audit has looked, or one has found
-- events missing since yesterday; 0: it has not.
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - coalesce((value::json ->> 'since')::timestamptz, 'epoch'))
                    * 1000), 0)::int8
FROM {control}
WHERE kind = 'setting'
  AND (name LIKE 'lost %' OR name LIKE 'audited %' AND set_at > clock_timestamp() - interval '1 day')
