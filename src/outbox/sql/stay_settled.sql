-- use: lane stay_settled
-- Raises an error when rows that were settled in this transaction are unsent again, because a trigger or a rule has
-- undone it.
-- $1 text[] ids; $2 int4[] their slices.
SELECT CASE WHEN count(*) = 0 THEN 0
            ELSE ('settled rows of which ' || count(*) || ' are unsent again')::int4 END
FROM ROWS FROM (unnest($1::text[]), unnest($2::int4[])) AS relay_settled (relay_id, relay_slice)
JOIN {outbox} ON {id} = relay_id::{id_type} AND {slice_of_row} = relay_slice
WHERE {unsent}
