-- Deletes sent rows of the outbox: ? is a JSON array of their ids.
DELETE o FROM JSON_TABLE(?, '$[*]' COLUMNS (relay_id BIGINT UNSIGNED PATH '$')) j
STRAIGHT_JOIN {outbox} o FORCE INDEX (PRIMARY) ON {id} = j.relay_id WHERE {sent_at} IS NOT NULL
