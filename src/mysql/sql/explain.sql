-- Rows of the outbox as a claim would read them, and why one is not sent: by ids and event ids, or the newest.
SELECT {claimed_columns}, {if unsent}IF({unsent}, 'unsent', 'sent, or left out by where'){else}'unsent'{end} AS state
FROM {outbox} o
WHERE {if words}(CAST({id} AS CHAR) IN ({words}) OR {event_id} IN ({words})){else}TRUE{if asked} AND ({asked}){end}{end}
ORDER BY {id} DESC LIMIT {limit}
