-- Part: an id that names several rows with other event ids, as text for an error; NULL if there is none.
(SELECT 'id "' || left(relay_word, 64) || '" names ' || count(DISTINCT row_key) || ' rows: give the event id '
        || string_agg(DISTINCT '"' || left(event, 64) || '"', ' or ')
 FROM hits GROUP BY relay_word HAVING count(DISTINCT event) > 1 ORDER BY 1 LIMIT 1)
