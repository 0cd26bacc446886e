-- Part: the line of a row, with texts cut, because a row may be parked for a huge text, and a page has many rows.
seq,
{is_known:copy.seq = chosen_seq} AS stays, -- not shown
{sure_text:id} AS id,
{parked_state_in_words} AS state,
left({sure_text:event_id}, 1024) AS event_id,
left({text:topic}, 1024) AS topic,
left({text:key}, 1024) AS key,
left({text:type}, 1024) AS type,
attempts,
left({sure_text:error}, 1024) AS error
