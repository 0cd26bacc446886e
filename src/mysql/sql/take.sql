-- Deletes rows of the outbox that have been parked: ? is a JSON array whose items have their ids as "i".
DELETE o FROM JSON_TABLE(?, '$[*]' COLUMNS (relay_id BIGINT UNSIGNED PATH '$.i')) j
STRAIGHT_JOIN {outbox} o FORCE INDEX (PRIMARY) ON {id} = j.relay_id{if unsent} WHERE {unsent}{end}
