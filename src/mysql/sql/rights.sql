-- Changes nothing, but fails where the role lacks a right that a relay needs.
DO (SELECT COUNT(*) FROM {outbox} o WHERE FALSE);
{if deleting}DELETE o FROM {outbox} o WHERE FALSE;{else}UPDATE {outbox} o SET {mark} WHERE FALSE;{end}
UPDATE {slice_table} s SET s.slices = s.slices WHERE FALSE;
INSERT INTO {parked} (id, state) SELECT 1, 'dead' FROM {slice_table} s WHERE FALSE;
UPDATE {parked} p SET p.attempts = 0 WHERE FALSE;
DELETE p FROM {parked} p WHERE FALSE;
INSERT INTO {control} (kind, name) SELECT 'setting', '' FROM {slice_table} s WHERE FALSE;
UPDATE {control} c SET c.value = '' WHERE FALSE;
DELETE c FROM {control} c WHERE FALSE
