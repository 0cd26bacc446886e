-- Keeps the condition by which rows are sent, unless there is one.
-- $1 text the condition.
INSERT INTO {control} (kind, name, value) VALUES ('setting', 'condition', $1) ON CONFLICT DO NOTHING
