-- Part: up to five of the ids that name no row, as text for an error.
(SELECT string_agg('"' || left(word, 64) || '"', ' or ' ORDER BY word)
 FROM (SELECT word FROM missing ORDER BY word LIMIT 5) few)
