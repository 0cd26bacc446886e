-- Part: a row for people, with long texts cut.
seq,
{is_known:copy.seq = chosen_seq} AS stays, -- not shown
{sure_text:id} AS id,
left({sure_text:event_id}, 1024) AS event_id,
{parked_state_in_words} AS state,
left({text:topic}, 4097) AS topic,
left({text:key}, 4097) AS key,
left({text:type}, 4097) AS type,
{text:created_at} AS created_at,
to_char(parked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS parked_at,
attempts,
left({sure_text:error}, 4097) AS error,
left({text:headers}, 4097) AS headers,
left({text:raw}, 4097) AS raw,
{payload_bytes} AS payload_bytes,
{payload_start} AS payload
