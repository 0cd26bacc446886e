-- use: desk dead_show with shown $ids
-- use: desk dead_show_json with shown $ids $json
-- The row that `dead show` prints. A payload is cut where it is shown as text.
WITH {chosen_by_id}
SELECT refused AS desk_refused, shown.*
FROM refusal LEFT JOIN (
    SELECT seq AS desk_place,
    {if $json}
           (SELECT row_to_json(r) FROM (
               SELECT {row_name} AS id,
                      left({shown_event_id}, 1024) AS event_id,
                      {shown_topic} AS topic,
                      {shown_key} AS key,
                      {shown_type} AS type,
                      state,
                      attempts,
                      due,
                      {shown_error} AS error,
                      parked_at,
                      {if whole}created_at{else}{shown_created_at}{end} AS created_at,
                      {if whole}headers{else}{shown_headers}{end} AS headers,
                      {shown_raw} AS raw,
                      {payload_bytes} AS payload_bytes,
                      {if whole}payload{else}{shown_payload}{end} AS payload
           ) r) AS json
    {else}
           {row_stays} AS desk_stays,
           {row_name} AS id,
           left({shown_event_id}, 1024) AS event_id,
           {state_words} AS state,
           left({shown_topic}, 4097) AS topic,
           left({shown_key}, 4097) AS key,
           left({shown_type}, 4097) AS type,
           {shown_created_at} AS created_at,
           to_char(parked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS parked_at,
           attempts,
           left({shown_error}, 4097) AS error,
           left({shown_headers}, 4097) AS headers,
           left({shown_raw}, 4097) AS "raw?",
           {payload_bytes} || ' bytes' || CASE WHEN {payload_bytes} > {payload_max}
               THEN ', the first {payload_max} of them (--json: all)' ELSE '' END AS payload,
           {if $bytes}
           {if left_out}NULL{else}substring(payload FROM 1 FOR {payload_max}){end} AS "?"
           {else}
           left({shown_payload}, {payload_max}) AS "?"
           {end}
    {end}
    FROM {parked} JOIN chosen ON seq = chosen_seq
) shown ON true
ORDER BY desk_place
