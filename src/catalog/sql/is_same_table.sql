-- Part: whether the table of this name is still the one that was described.
coalesce({oid_of:outbox}::oid = {outbox_oid}, false)
