-- use: desk backlog_oldest if aged
-- use: desk backlog_oldest_from if aged integer_ids with unsent_from
-- The age in seconds of the oldest unsent row, how many of the rows looked at have a created_at that gives no age, and
-- the first of these.
-- $1 int8 how many rows are looked at, of each slice with order = "key".
SELECT extract(epoch FROM clock_timestamp() - min(created)),
       count(*) FILTER (WHERE created IS NULL),
       (array_agg(named ORDER BY id) FILTER (WHERE created IS NULL))[1]
FROM (
    SELECT id,
    {if created_at_is_date}
    CASE WHEN created_at >= '1970-01-02' AND created_at < '9998-12-31' THEN created_at::timestamptz END
    {else}
    {time_of_text}
    {end}
     AS created,
           left(id::text, 64) || ' has ' || coalesce(left(created_at::text, 64), 'NULL') AS named
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
) aged
