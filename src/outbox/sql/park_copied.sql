-- use: lane park_copied if in_place
-- Before parked rows are parked again: says so in the rows of the outbox of which they are copies. Raises an error
-- when a trigger keeps one of them from it.
-- The parameters are those of park.sql.
WITH given AS (
    {given}
), found AS MATERIALIZED (
    SELECT {outbox_name}.ctid AS relay_row, relay_error, relay_attempts, relay_state
    FROM (
        SELECT copy.id AS relay_copy_id, copy.identity AS relay_copy_identity, g.error AS relay_error,
               g.attempts AS relay_attempts,
               CASE WHEN g.state = 'retry' AND copy.not_before > clock_timestamp() THEN 'scheduled'
                    ELSE g.state END AS relay_state
        FROM {parked} copy JOIN given g ON copy.ctid = g.relay_row
        WHERE copy.ctid = ANY ($1::tid[]) AND copy.in_outbox
        LIMIT $2::int4
    ) relay_copy
    JOIN {outbox} ON {id} = relay_copy_id AND ({unsent}) IS NOT TRUE
        AND coalesce(relay_copy_identity, {identity}) = {identity}
), touched AS (
    UPDATE {outbox} SET {park}
    FROM found relay_given
    WHERE {outbox_name}.ctid = relay_row
    RETURNING ({unsent}) IS NOT TRUE AS is_out
)
SELECT CASE WHEN count(*) FILTER (WHERE is_out) = (SELECT count(*) FROM found) THEN 0
            ELSE ('settled ' || count(*) FILTER (WHERE is_out) || ' rows instead of '
                  || (SELECT count(*) FROM found))::int4 END
FROM touched
