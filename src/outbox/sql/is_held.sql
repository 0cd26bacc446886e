-- Part of the claims of parked and of refused rows: a row of "runs" comes after a row of "earlier".
EXISTS (
    SELECT FROM earlier
    WHERE earlier.relay_slice = relay_run_slice AND earlier.id <= relay_run_id
      AND coalesce(earlier.key_text, relay_run_key) = relay_run_key)
