-- Settles rows of the outbox: ? is a JSON array of their ids. A list of ids behind IN would read the whole table and
-- lock each row that it passes; this looks each up by the primary key.
{if deleting}
DELETE o FROM JSON_TABLE(?, '$[*]' COLUMNS (relay_id BIGINT UNSIGNED PATH '$')) j
STRAIGHT_JOIN {outbox} o FORCE INDEX (PRIMARY) ON {id} = j.relay_id{if unsent} WHERE {unsent}{end}
{else}
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (relay_id BIGINT UNSIGNED PATH '$')) j
STRAIGHT_JOIN {outbox} o FORCE INDEX (PRIMARY) ON {id} = j.relay_id SET {mark} WHERE {unsent}
{end}
