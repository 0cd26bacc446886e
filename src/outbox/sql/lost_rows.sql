-- Part of remaining: rows without an id, which can never be claimed.
(SELECT count(*) FROM (SELECT FROM {outbox} WHERE {id} IS NULL AND {unsent} LIMIT 1000) lost)
