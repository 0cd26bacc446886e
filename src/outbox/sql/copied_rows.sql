-- Part: the rows of the outbox of which parked rows are copies. The claim has locked them (copy_is_free.sql); others
-- were deleted.
-- $1 tid[] the copies.
SELECT {outbox_name}.ctid AS found_row
FROM (
    SELECT copy.id AS relay_copy_id, copy.identity AS relay_copy_identity
    FROM {parked} copy
    WHERE copy.ctid = ANY ($1::tid[]) AND copy.in_outbox
) relay_copy
JOIN {outbox} ON {is_copied}
