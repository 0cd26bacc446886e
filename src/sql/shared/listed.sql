-- Part: what `dead list` shows of a parked row, and `dead retry` and `dead drop` of one that they would change.
{row_stays} AS desk_stays,
{row_name} AS id,
{state_words} AS state,
{if !$terminal}
left({shown_event_id}, 1024) AS event_id,
{end}
left({shown_topic}, 1024) AS topic,
left({shown_key}, 1024) AS key,
{if !$terminal}
left({shown_type}, 1024) AS type,
{end}
attempts,
left({shown_error}, 1024) AS error
