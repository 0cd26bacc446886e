-- Whether this role may read the ids of the events that it inserts; 1 or 0.
-- $1 text the column id; $2 text the column event_id.
SELECT (has_column_privilege({oid_of:outbox}, $1::text, 'SELECT')
        AND has_column_privilege({oid_of:outbox}, $2::text, 'SELECT'))::int
