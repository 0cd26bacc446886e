-- Part: the state of a parked row, for programs.
CASE WHEN due IS NULL THEN 'dead'
     WHEN {is_note} THEN 'refused'
     ELSE 'waiting' END
