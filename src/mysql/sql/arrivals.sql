-- The first unsent row from an id on that has no note, and the highest id: whether rows have come since the last look.
SELECT (SELECT {id} FROM {outbox} o FORCE INDEX ({claim_index})
        WHERE {id} >= {from}{if unsent} AND {unsent}{end}
          AND {has_no_note}
        ORDER BY {id} LIMIT 1),
       (SELECT {id} FROM {outbox} o FORCE INDEX (PRIMARY) ORDER BY {id} DESC LIMIT 1)
