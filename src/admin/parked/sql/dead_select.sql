-- use: parked dead_list with newest_first
-- use: parked dead_list_json with newest_first as_json
-- use: parked dead_show with by_id shown
-- use: parked dead_show_json with by_id shown as_json
-- use: parked dead_retry_dry with picks
-- use: parked dead_drop_dry with by_id drops would_change as_json
-- The rows that `dead list` and `dead show` print, and that `dead retry` and `dead drop` would change. Texts are cut,
-- because a row may be parked for a huge text, and a page has many rows; only `dead show --json` returns all of them.
-- Returns the ids that name no row (NULL: none), seq (NULL: there is no row), and the values, of which "stays" is not
-- shown. By ids: $1 text[] the ids. By a filter: $1 int8 and $2 int8 the bounds of seq, both exclusive; NULL for any:
-- $3 text the type; $4 text the topic; $5 text a regular expression for the topic; $6 timestamptz parked since.
WITH {if by_id}{chosen_by_id}{else}{chosen_by_filter}{end}, done AS MATERIALIZED (
    SELECT
    {if would_change}
           {row_changed_json}
    {else}
    {if as_json}
           seq,
           (SELECT row_to_json(r) FROM (
               SELECT {shown_id} AS id,
                      left({shown_event_id}, 1024) AS event_id,
                      {if shown}
                      {shown_topic} AS topic,
                      {shown_key} AS key,
                      {shown_type} AS type,
                      {else}
                      left({shown_topic}, 1024) AS topic,
                      left({shown_key}, 1024) AS key,
                      left({shown_type}, 1024) AS type,
                      {end}
                      state,
                      attempts,
                      due,
                      {if shown}
                      {shown_error} AS error,
                      parked_at,
                      {if whole}created_at{else}{shown_created_at}{end} AS created_at,
                      {if whole}headers{else}{shown_headers}{end} AS headers,
                      {shown_raw} AS raw,
                      {payload_bytes} AS payload_bytes,
                      {if whole}payload{else}{shown_payload}{end} AS payload
                      {else}
                      left({shown_error}, 1024) AS error,
                      parked_at
                      {end}
           ) r) AS json
    {else}
           seq,
           {if in_place}
           (SELECT bool_or(coalesce(relay_copy_identity, {identity}) = {identity})
            FROM (
                SELECT copy.id AS relay_copy_id, copy.identity AS relay_copy_identity
                FROM {parked} copy
                WHERE copy.seq = chosen_seq AND copy.in_outbox
            ) relay_copy, {outbox}
            WHERE {id} = relay_copy_id AND ({unsent}) IS NOT TRUE) AS stays, -- not shown
           {else}
           NULL::bool AS stays, -- not shown
           {end}
           {shown_id} AS id,
           {if shown}
           left({shown_event_id}, 1024) AS event_id,
           {end}
           state || CASE
               WHEN due IS NULL OR state = 'paused' THEN ''
               WHEN due <= clock_timestamp() THEN ', next try now'
               WHEN due < clock_timestamp() + interval '100 s'
                    THEN ', next try in ' || ceil(extract(epoch FROM due - clock_timestamp())) || ' s'
               WHEN due < clock_timestamp() + interval '100 min'
                    THEN ', next try in ' || ceil(ceil(extract(epoch FROM due - clock_timestamp())) / 60) || ' min'
               ELSE ', next try at ' || to_char(due AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
           END AS state,
           {if shown}
           left({shown_topic}, 4097) AS topic,
           left({shown_key}, 4097) AS key,
           left({shown_type}, 4097) AS type,
           {shown_created_at} AS created_at,
           to_char(parked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS parked_at,
           attempts,
           left({shown_error}, 4097) AS error,
           left({shown_headers}, 4097) AS headers,
           left({shown_raw}, 4097) AS raw,
           {payload_bytes} AS payload_bytes,
           {if shows_bytes}
           substring(payload FROM 1 FOR {payload_max}) AS payload
           {else}
           left({shown_payload}, {payload_max}) AS payload
           {end}
           {else}
           left({shown_event_id}, 1024) AS event_id,
           left({shown_topic}, 1024) AS topic,
           left({shown_key}, 1024) AS key,
           left({shown_type}, 1024) AS type,
           attempts,
           left({shown_error}, 1024) AS error
           {end}
    {end}
    {end}
    FROM {parked} JOIN chosen ON seq = chosen_seq
)
SELECT words, done.* FROM missing_words LEFT JOIN done ON true ORDER BY seq {if newest_first}DESC{else}ASC{end}
