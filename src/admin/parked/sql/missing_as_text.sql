-- Part: up to five of the ids that name no row, as text for an error.
(SELECT string_agg('"' || left(relay_word, 64) || '"', ' or ' ORDER BY relay_word)
 FROM (SELECT relay_word FROM missing ORDER BY relay_word LIMIT 5) few)
