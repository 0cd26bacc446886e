-- Copies sent rows into the parked table, due at once, in one step of `replay`. Copies have negative numbers below all
-- that are there. Returns the number of rows and the places.
-- The parameters are those of replay_chosen.sql.
WITH {replay_chosen}, sent_rows AS (
    SELECT {moved_columns} FROM {outbox} WHERE ctid = ANY (ARRAY(SELECT place FROM chosen WHERE NOT parked))
    UNION ALL
    SELECT {moved_names} FROM {parked} WHERE ctid = ANY (ARRAY(SELECT place FROM chosen WHERE parked))
), copies AS (
    INSERT INTO {parked} (seq, due, error, {moved_names}) OVERRIDING SYSTEM VALUE
    SELECT (SELECT least(min(seq), 0) FROM {parked}) - count(*) OVER () + row_number() OVER (ORDER BY id) - 1,
           {replay_due}, 'replayed', {moved_names}
    FROM sent_rows head
    RETURNING 1
)
SELECT (SELECT count(*) FROM copies), {replay_places}
