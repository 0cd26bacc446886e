-- Part of the claims of parked rows: copies whose rows somebody has locked get the latest due time, and say so.
put_off AS (
    UPDATE {parked} SET due = statement_timestamp(), error = 'its row is locked by another session'
    WHERE due IS NOT NULL AND sent_at IS NULL AND seq = ANY (ARRAY(
        SELECT seq FROM {parked}
        WHERE seq = ANY (ARRAY(SELECT relay_run FROM copied WHERE NOT is_free))
        FOR UPDATE SKIP LOCKED))
),
