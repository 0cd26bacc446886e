-- use: lane lock_unnumbered if numbered
-- Locks unsent rows of a slice that have no number, in the order of created_at, else in that in which they lie in the
-- table, and passes them to number.sql, which sees them as they are now. A row that another session has locked is left
-- for later; of the rows of before the numbers, those behind it too. The first statement reads all rows of the slice
-- without a number, and sorts them: an index on created_at would be read with all rows that were sent.
-- $1 int4 the slice; -1: the rows without a key; $2 int4 at most how many. Returns the event id of the first one.
WITH relay_found AS MATERIALIZED (
    SELECT ctid AS relay_row, {if has_created_at}{created_at}{else}NULL{end} AS relay_time
    FROM {outbox}
    WHERE {slice_of_row} = $1::int4 AND {id} IS NULL AND {unsent}
    UNION ALL
    SELECT * FROM (
        SELECT ctid, {if has_created_at}{created_at}{else}NULL{end}
        FROM {outbox}
        WHERE $1::int4 = -1 AND {slice_of_row} IS NULL AND {id} IS NULL AND {unsent} LIMIT $2::int4
    ) relay_keyless
), relay_chosen AS MATERIALIZED (
    SELECT relay_row, row_number() OVER (ORDER BY relay_time, relay_row) AS relay_place
    FROM relay_found ORDER BY relay_place LIMIT $2::int4
), relay_locked AS MATERIALIZED (
    SELECT relay_place, relay_now.*
    FROM relay_chosen, LATERAL (
        SELECT {outbox_name}.ctid AS relay_row, ({event_id})::text AS relay_name
        FROM {outbox}
        WHERE {outbox_name}.ctid = relay_chosen.relay_row AND {id} IS NULL
        FOR UPDATE SKIP LOCKED
    ) relay_now
)
SELECT left(min(relay_name) FILTER (WHERE relay_place = 1), 1024) AS name, count(*) AS locked,
       set_config('outbox_relay.unnumbered', coalesce(array_agg(relay_row ORDER BY relay_place)::text, '{}'), true)
FROM relay_locked
WHERE $1::int4 = -1 OR {numbers_are_noted} OR relay_place < coalesce((
    SELECT min(relay_place) FROM relay_chosen
    WHERE relay_place NOT IN (SELECT relay_place FROM relay_locked)), 'Infinity'::float8)
