-- Part: the rows of the outbox of which parked rows are copies, unless they were deleted. The claim has locked them
-- (copy_is_held.sql).
-- $1 tid[] the copies.
SELECT {outbox_name}.ctid AS found_row
FROM (
    SELECT copy.id AS relay_copy_id, copy.event_id::text AS relay_copy_event
    FROM {parked} copy
    WHERE copy.ctid = ANY ($1::tid[]) AND copy.in_outbox
) relay_copy
JOIN {outbox} ON {is_copied} AND {is_out}
{lock_mode} OF {outbox_name}
