-- use: desk let_go
-- Makes the probe due of rows that a pause held back; once sent, it releases the others. A row locked by a relay is
-- skipped.
-- $1 text what the rows wait for.
UPDATE {parked} SET due = clock_timestamp()
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM {parked} WHERE waits_for = $1 AND due IS NOT NULL FOR UPDATE SKIP LOCKED))
