-- use: desk may_return_ids if emits
-- Whether this role may read the ids of the events that it inserts; 1 or 0.
-- $1 text the column id; $2 text the column event_id.
SELECT (has_column_privilege(to_regclass({outbox_text}), $1::text, 'SELECT')
        AND has_column_privilege(to_regclass({outbox_text}), $2::text, 'SELECT'))::int
