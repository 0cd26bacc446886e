-- Part: what was, or would be, done to a row, as JSON with texts cut.
seq,
(SELECT row_to_json(r) FROM (
    SELECT '{done}' AS result,
           {sure_text:id} AS id,
           left({sure_text:event_id}, 1024) AS event_id,
           left({text:topic}, 1024) AS topic,
           left({text:key}, 1024) AS key,
           left({text:type}, 1024) AS type,
           left({sure_text:error}, 1024) AS error
) r) AS json
