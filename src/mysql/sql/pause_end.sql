-- Ends a pause: ? is the kind, ? the name.
DELETE FROM {control} WHERE kind = ? AND name = ?
