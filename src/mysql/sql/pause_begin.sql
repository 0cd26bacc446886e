-- Pauses a sink, a topic or a key: ? is the kind, ? the name, ? the reason.
INSERT IGNORE INTO {control} (kind, name, reason) VALUES (?, ?, ?)
