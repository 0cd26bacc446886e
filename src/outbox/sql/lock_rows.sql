-- use: lane lock_rows
-- Waits for rows that other sessions have locked, before their notes are written: a statement behind this one sees what
-- the others have done with them.
-- $1 tid[] rows; $2 text[] their ids.
SELECT FROM {outbox}
WHERE ctid = ANY ($1::tid[]) AND {id}::text = ANY ($2::text[])
FOR NO KEY UPDATE
