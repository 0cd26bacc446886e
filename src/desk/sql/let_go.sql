-- use: desk let_go
-- Makes the probe due of rows that a pause held back; once sent, it releases the others. A row locked by a relay is
-- skipped.
UPDATE {parked} SET due = clock_timestamp()
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM {parked} WHERE waits_for = {$pause}::text AND due IS NOT NULL FOR UPDATE SKIP LOCKED))
