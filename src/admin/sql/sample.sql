-- use: desk sample
-- One row of each topic, from the oldest unsent rows and from the 1,000 parked ones that are tried next: topic, key,
-- type, id and event id, cut.
-- $1 int8 how many unsent rows, of each slice with order = "key"; $2 int8 how many topics.
SELECT DISTINCT ON (topic) topic, key, type, id, event_id
FROM (
    SELECT left(topic::text, 256) AS topic, left(key::text, 256) AS key, left(type::text, 256) AS type,
           left(id::text, 256) AS id, left(event_id::text, 256) AS event_id
    FROM (
        {oldest_unsent}
    ) unsent
    UNION ALL
    (SELECT left(topic::text, 256), left(key::text, 256), left(type::text, 256), left(id::text, 256),
            left(event_id::text, 256)
     FROM {parked}
     WHERE sent_at IS NULL AND state <> 'dead'
     ORDER BY due LIMIT 1000)
) sample
WHERE topic IS NOT NULL
ORDER BY topic LIMIT $2::int8
