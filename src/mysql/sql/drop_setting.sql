-- Deletes a setting of the control table: ? is its name.
DELETE FROM {control} WHERE kind = 'setting' AND name = ?
