-- The first unsent row below the bound of its slice, and the slice: {bounds} has all bounds, {highest} is the highest.
SELECT {id}, {slice_of_row} FROM {outbox} o FORCE INDEX ({claim_index})
WHERE {id} < {highest} AND {id} < CAST(ELT(1 + ({slice_of_row}), {bounds}) AS SIGNED){if unsent} AND {unsent}{end}
  AND NOT EXISTS (SELECT 1 FROM {parked} n FORCE INDEX (id) WHERE n.id = {id} AND n.state IN ('refused', 'unsettled'))
ORDER BY {id} LIMIT 1
