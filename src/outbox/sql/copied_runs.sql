-- Part of claim_parked_runs where rows stay in the outbox: "copied" locks the rows of the copies among "runs". A run
-- ends before a copy that may not be sent.
copied AS MATERIALIZED (
    SELECT relay_run, is_free,
           bool_and(coalesce(is_free, false)) OVER (
               PARTITION BY relay_run_key, CASE WHEN relay_run_key IS NULL THEN relay_run END
               ORDER BY relay_run_id, relay_run) AS is_ready
    FROM (
        SELECT runs.*, id AS relay_copy_id, identity AS relay_copy_identity, in_outbox AS relay_in_outbox
        FROM runs JOIN {parked} ON seq = relay_run
        WHERE NOT {is_held}
    ) relay_copy,
    LATERAL ({copy_is_free}) freed
), {put_off}