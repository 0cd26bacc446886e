-- The first unsent row below the bound of its slice, and the slice: {bounds} has all bounds, {highest} is the highest.
-- It may pass millions of rows that were deleted, and the lanes may wait for a flush of this session meanwhile.
{if is_mariadb}SET STATEMENT max_statement_time = 2 FOR {end}
SELECT {if is_mariadb}{else}/*+ MAX_EXECUTION_TIME(2000) */{end}
       {id}, {slice_of_row} FROM {outbox} o FORCE INDEX ({claim_index})
WHERE {id} < {highest} AND {id} < CAST(ELT(1 + ({slice_of_row}), {bounds}) AS SIGNED){if unsent} AND {unsent}{end}
  AND NOT EXISTS (SELECT 1 FROM {parked} n FORCE INDEX (id) WHERE n.id = {id} AND n.state IN ('refused', 'unsettled'))
ORDER BY {id} LIMIT 1
