-- use: desk sample
-- One row of each topic, from the oldest unsent rows and from the 1,000 parked ones that are tried next: topic, key,
-- type, id and event id, cut.
-- $1 int8 how many unsent rows, of each slice with order = "key"; $2 int8 how many topics.
SELECT DISTINCT ON (topic) topic, key, type, id, event_id
FROM (
    SELECT left(topic::text, 256) AS topic, left(key::text, 256) AS key, left(type::text, 256) AS type,
           left(id::text, 256) AS id, left(event_id::text, 256) AS event_id
    FROM (SELECT {id} AS id, {event_id} AS event_id, {topic} AS topic, {key} AS key, {type} AS type,
        {payload} AS payload,
    {headers} AS headers, {created_at} AS created_at FROM
    {if by_slice}
    generate_series(0, {slices} - 1) relay_slices (relay_slice),
    LATERAL (
        SELECT *
        FROM {outbox}
        WHERE {unsent} AND {is_not_noted} AND
        {if unsent_from}
        ({slice_of_row}, {id}) >= (relay_slice, {unsent_from})
        {else}
        {slice_of_row} >= relay_slice
        {end}
         AND {slice_of_row} < relay_slice + 1
        ORDER BY {slice_of_row}, {id} LIMIT $1::int8
    ) {outbox_name}
    {else}
    (SELECT * FROM {outbox} WHERE {unsent} AND {is_not_noted}
        AND {if seeks_from}{id} >= {unsent_from}{else}true{end} ORDER BY {id} LIMIT $1::int8) {outbox_name}
    {end}
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
