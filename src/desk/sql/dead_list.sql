-- use: desk dead_list with newest_first
-- use: desk dead_list_json with newest_first $json
-- The rows that `dead list` prints. Texts are cut, because a row may be parked for a huge text, and a page has many
-- rows.
WITH {chosen_by_filter}
SELECT seq AS desk_place,
       {if $json}
       (SELECT row_to_json(r) FROM (
           SELECT {row_name} AS id,
                  left({shown_event_id}, 1024) AS event_id,
                  left({shown_topic}, 1024) AS topic,
                  left({shown_key}, 1024) AS key,
                  left({shown_type}, 1024) AS type,
                  state,
                  attempts,
                  due,
                  left({shown_error}, 1024) AS error,
                  parked_at
       ) r) AS json
       {else}
       {listed}
       {end}
FROM {parked} JOIN chosen ON seq = chosen_seq
ORDER BY seq DESC
