-- use: desk position_leave if position
-- Puts a mark on each row that the positions say is sent, and ends the positions: before another on_sent, or another
-- number of slices, which `init` prints within this transaction. Relays that work make positions anew.
BEGIN;
SET LOCAL search_path = pg_catalog;
LOCK TABLE {slice_table} IN ACCESS EXCLUSIVE MODE;
UPDATE {outbox} SET {sent_at} = {sent_time} WHERE {sent_at} IS NULL AND {sent_time} IS NOT NULL;
DELETE FROM {progress};
DELETE FROM {control} WHERE kind = 'setting' AND name IN ('condition', 'position');
COMMIT
