-- Rows of the outbox as a claim would read them, and why one is not sent: by ids and event ids, or the newest. One that
-- the server refuses has the state and the error of its note. And whether a row waits behind a parked one of its key.
SELECT {claimed_columns},
       {if unsent}IF(({unsent}) IS NOT TRUE, 'sent, or left out by where', {else}({end}
       COALESCE((SELECT n.state FROM {note_of_row}), 'unsent')) AS state,
       {if unsent}IF(({unsent}) IS NOT TRUE, NULL, {else}({end}(SELECT n.error FROM {note_of_row})) AS error,
       {if keyed}
       EXISTS (SELECT 1 FROM {parked} p FORCE INDEX (key_order)
               WHERE p.key_hash = CRC32({key_bytes}) AND p.`key` = {key_bytes} AND p.sent_at IS NULL AND p.id < {id})
       {else}
       0
       {end} AS is_blocked
FROM {outbox} o
WHERE {if words}(CAST({id} AS CHAR) IN ({words}) OR {event_id} IN ({words})){else}TRUE{if asked} AND ({asked}){end}{end}
ORDER BY {id} DESC LIMIT {limit}
