-- use: desk newest_sent if has_sent_at
-- Whether sent_at of the newest row seems to come from the future, as times east of the zone do; 1 or 0.
SELECT coalesce((
    SELECT ({sent_at} > now() + interval '1 min' AND {sent_at} < now() + interval '1 day')::int
    FROM {outbox} ORDER BY {outbox_name}.{id} DESC LIMIT 1), 0)
