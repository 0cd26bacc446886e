-- use: desk dead_payload
-- Whether parked payloads are of type bytea, 1 or NULL.
SELECT (SELECT 1 FROM pg_catalog.pg_attribute a
        WHERE attrelid = to_regclass({parked_text}) AND attname = 'payload' AND {base_type} = 'bytea') AS bytes
