-- The ids of the row that this session has inserted last.
SELECT {id}, {event_id} FROM {outbox} o WHERE {id} = LAST_INSERT_ID()
