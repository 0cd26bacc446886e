-- Returns when everything that was committed before is on disk: the commit of a change of its own flushes the log.
INSERT INTO {control} (kind, name, value) VALUES ('setting', 'flush', UUID()) ON DUPLICATE KEY UPDATE value = UUID()
