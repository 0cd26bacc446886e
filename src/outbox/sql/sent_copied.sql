-- use: lane sent_copied if in_place
-- Before parked rows are settled: marks or deletes the rows of the outbox of which they are copies. Raises an error
-- when a trigger keeps one of them from it.
-- $1 tid[] the copies.
WITH found AS MATERIALIZED (
    SELECT {outbox_name}.ctid AS found_row
    FROM (
        SELECT copy.id AS relay_copy_id, copy.identity AS relay_copy_identity
        FROM {parked} copy
        WHERE copy.ctid = ANY ($1::tid[]) AND copy.in_outbox
    ) relay_copy
    JOIN {outbox} ON {id} = relay_copy_id AND ({unsent}) IS NOT TRUE
        AND coalesce(relay_copy_identity, {identity}) = {identity}
), touched AS (
    {if marking}
    UPDATE {outbox} SET {mark}
    WHERE ctid = ANY (ARRAY(SELECT found_row FROM found))
    RETURNING ({unsent}) IS NOT TRUE AS is_out
    {else}
    DELETE FROM {outbox}
    WHERE ctid = ANY (ARRAY(SELECT found_row FROM found))
    RETURNING true AS is_out
    {end}
)
SELECT CASE WHEN count(*) FILTER (WHERE is_out) = (SELECT count(*) FROM found) THEN 0
            ELSE ('settled ' || count(*) FILTER (WHERE is_out) || ' rows instead of '
                  || (SELECT count(*) FROM found))::int4 END
FROM touched
