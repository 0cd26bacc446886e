-- The columns as a claim reads them, for their types.
SELECT {columns} FROM {outbox} o LIMIT 0
