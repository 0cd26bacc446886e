-- Part of the claims of parked and of refused rows: a row of "runs" comes after a row of "earlier". Of two rows with
-- one id the one in the outbox goes first (blocked.sql).
(EXISTS (
     SELECT FROM earlier
     WHERE earlier.relay_slice = relay_run_slice AND earlier.key_text = relay_run_key AND earlier.id <= relay_run_id)
 OR (relay_run_key IS NOT NULL AND EXISTS (
     SELECT FROM earlier
     WHERE earlier.relay_slice = relay_run_slice AND earlier.key_text IS NULL AND earlier.id <= relay_run_id)))
