-- Part: a whole row as JSON.
seq,
(SELECT row_to_json(r) FROM (
    SELECT {sure_text:id} AS id,
           left({sure_text:event_id}, 1024) AS event_id,
           {text:topic} AS topic,
           {text:key} AS key,
           {text:type} AS type,
           state,
           attempts,
           due,
           {sure_text:error} AS error,
           parked_at,
           {value:created_at} AS created_at,
           {value:headers} AS headers,
           {text:raw} AS raw,
           {payload_bytes} AS payload_bytes,
           {value:payload} AS payload
) r) AS json
