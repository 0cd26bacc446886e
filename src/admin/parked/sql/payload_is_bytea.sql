-- use: parked payload_is_bytea
-- Whether parked payloads are of type bytea; 1 or 0.
SELECT count(*)
FROM pg_catalog.pg_attribute a
WHERE attrelid = to_regclass({parked_text}) AND attname = 'payload' AND {base_type} = 'bytea'
