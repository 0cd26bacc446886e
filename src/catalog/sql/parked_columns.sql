-- use: desk parked_columns
-- The columns of the parked table and their base types.
-- $1 text the parked table, quoted.
SELECT attname, {base_type}
FROM pg_catalog.pg_attribute a
WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped
