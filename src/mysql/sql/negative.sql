-- A row with a negative id: from 0 downwards, because the other way would pass all rows that were deleted.
SELECT {id} FROM {outbox} o FORCE INDEX (PRIMARY) WHERE {id} < 0 ORDER BY {id} DESC LIMIT 1
