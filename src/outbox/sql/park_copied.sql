-- Before parked rows are parked again: says so in the rows of the outbox of which they are copies. A row that its owner
-- has brought back within `where`, or deleted, is left alone.
-- The parameters are those of park.sql.
WITH given AS (
    {given}
), touched AS (
    UPDATE {outbox} SET {park}
    FROM (
        SELECT copy.id AS relay_id, g.error AS relay_error, g.attempts AS relay_attempts,
               CASE WHEN g.state = 'retry' AND copy.not_before > clock_timestamp() THEN 'scheduled'
                    ELSE g.state END AS relay_state
        FROM {parked} copy JOIN given g ON copy.ctid = g.relay_row
        WHERE copy.ctid = ANY ($1::tid[]) AND copy.in_outbox
    ) relay_given
    WHERE {id} = relay_id AND {is_out}
    RETURNING {is_out} AS is_out
)
SELECT CASE WHEN bool_and(is_out) IS NOT FALSE AND count(*) <= $2::int4 THEN 0
            ELSE ('settled ' || count(*) || ' rows of which some are unsent again')::int4 END
FROM touched
