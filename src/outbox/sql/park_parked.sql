-- use: lane park_parked
-- Parks parked rows again. A row that no longer waits for its destination has reached it, even if it failed again for
-- another reason. A row that now waits for another destination leaves the others of the first one without a probe, so
-- they are released too.
-- The parameters are those of park.sql.
WITH given AS (
    {given}
), touched AS (
    UPDATE {parked} o SET error = g.error, attempts = g.attempts, due = g.due, waits_for = g.waits_for,
                       state = CASE WHEN g.state = 'retry' AND before.not_before > clock_timestamp() THEN 'scheduled'
                                    ELSE g.state END
    FROM given g, {parked} before
    WHERE o.ctid = g.relay_row AND before.ctid = g.relay_row
      AND o.ctid = ANY ($1::tid[]) AND before.ctid = ANY ($1::tid[])
    RETURNING CASE WHEN g.waits_for IS DISTINCT FROM before.waits_for THEN before.waits_for END AS reached
), released AS (
    {release}
)
{count_settled}
