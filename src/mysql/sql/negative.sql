-- Whether there are rows with negative ids.
SELECT EXISTS (SELECT 1 FROM {outbox} o FORCE INDEX (PRIMARY) WHERE {id} < 0)
