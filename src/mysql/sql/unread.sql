-- A row that a claim could not read, perhaps: this fails for that row alone.
SELECT {claimed_columns} FROM {outbox} o WHERE {id} = {from}
