-- Part: the line of a row as JSON, with texts cut.
seq,
(SELECT row_to_json(r) FROM (
    SELECT {sure_text:id} AS id,
           left({sure_text:event_id}, 1024) AS event_id,
           left({text:topic}, 1024) AS topic,
           left({text:key}, 1024) AS key,
           left({text:type}, 1024) AS type,
           state,
           attempts,
           due,
           left({sure_text:error}, 1024) AS error,
           parked_at
) r) AS json
