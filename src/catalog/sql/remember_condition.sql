-- use: desk remember_condition
-- Keeps the condition by which rows are sent, and their order, unless there are such.
-- $1 text the condition; $2 text the order.
INSERT INTO {control} (kind, name, value) VALUES ('setting', 'condition', $1), ('setting', 'order', $2)
ON CONFLICT DO NOTHING
