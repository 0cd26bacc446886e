-- The ids of the row that this session has inserted last.
SELECT {id}, {event_id} FROM {outbox} o WHERE {id} = {if by_trigger}LASTVAL({order_sequence}){else}LAST_INSERT_ID(){end}
