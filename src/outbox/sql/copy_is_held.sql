-- Part: the parked row "head" may be sent. If it is the copy of a row that has stayed in the outbox, that row is
-- locked until this transaction ends, so that nobody brings it back within `where` while its copy is sent. A row that
-- is back already, or that its owner has locked, is not locked, and its copy waits; the copy of a row that was deleted
-- does not.
(head.in_outbox IS NOT TRUE
 OR EXISTS (
    SELECT FROM (SELECT head.id AS relay_copy_id, head.event_id::text AS relay_copy_event) relay_copy
    JOIN {outbox} ON {is_copied} AND {is_out}
    {lock_mode} OF {outbox_name} SKIP LOCKED)
 OR NOT EXISTS (
    SELECT FROM (SELECT head.id AS relay_copy_id, head.event_id::text AS relay_copy_event) relay_copy
    JOIN {outbox} ON {is_copied}))
