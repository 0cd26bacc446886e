-- Part: the row of "runs" must wait for an earlier one of its key, or may have to (earlier.sql).
(EXISTS (
     SELECT FROM earlier
     WHERE earlier.relay_slice = relay_run_slice AND earlier.key_text = relay_run_key AND earlier.id <= relay_run_id)
 OR (relay_run_key IS NOT NULL AND EXISTS (
     SELECT FROM earlier
     WHERE earlier.relay_slice = relay_run_slice AND earlier.key_text IS NULL AND earlier.id <= relay_run_id)))
