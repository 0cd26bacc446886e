-- The first unsent row from an id on.
SELECT {id} FROM {outbox} o FORCE INDEX ({claim_index}) WHERE {id} >= {from}{if unsent} AND {unsent}{end}
ORDER BY {id} LIMIT 1
