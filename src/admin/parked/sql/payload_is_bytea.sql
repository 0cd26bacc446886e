-- Whether parked payloads are of type bytea; 1 or 0.
SELECT count(*)
FROM pg_catalog.pg_attribute a
WHERE attrelid = {oid_of:parked} AND attname = 'payload' AND {base_type} = 'bytea'
