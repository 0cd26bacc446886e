-- use: desk newest_created if aged
-- Whether created_at of the newest row seems to come from the future, as times east of the zone do; 1 or 0.
SELECT coalesce((
    SELECT ({created_at} > now() + interval '1 min' AND {created_at} < now() + interval '1 day')::int
    FROM {outbox} ORDER BY {outbox_name}.{id} DESC LIMIT 1), 0)
