-- Writes a setting of the control table: ? is its name, ? its value.
INSERT INTO {control} (kind, name, value) VALUES ('setting', ?, ?)
ON DUPLICATE KEY UPDATE value = VALUES(value), set_at = UTC_TIMESTAMP(6), set_by = CURRENT_USER()
