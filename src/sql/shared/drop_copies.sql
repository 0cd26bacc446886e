-- Part: deletes the copies of the rows "taken", which their owner has brought back within `where`. The copy of another
-- row that had the id of one stays. The copies are locked in the order in which `dead retry` locks them: otherwise the
-- two could wait for each other, and PostgreSQL would roll back a batch that is published.
DELETE FROM {parked}
WHERE seq = ANY (ARRAY(
    SELECT seq FROM {parked}
    WHERE seq = ANY (ARRAY(
        SELECT copy.seq
        FROM taken
        JOIN {parked} copy ON copy.in_outbox IS TRUE AND copy.id = taken.id
                          AND coalesce(copy.identity, taken.identity) = taken.identity))
    ORDER BY seq
    FOR UPDATE))
RETURNING id AS dropped_id, seq, {if keyed}{key_text}{else}NULL::text{end} AS left_key
