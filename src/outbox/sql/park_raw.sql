-- Parks a row whose values cannot be computed, as dead, with the whole row in place of them. Its key is known where
-- rows keep their order: it is in the index of the claims. Raises an error when it does not move the row.
-- $1 tid; $2 text why; $3 bool the row as JSON; otherwise as text.
WITH gone AS (
    DELETE FROM {outbox} WHERE ctid = $1::tid
    RETURNING {id} AS id, {ordered_key} AS key,
              CASE WHEN $3::bool THEN row_to_json({outbox_name})::text ELSE {outbox_name}::text END AS raw
), touched AS (
    INSERT INTO {parked} (id{key_name}, raw, state, error, attempts)
    SELECT id{key_name}, raw, 'dead', $2::text, 1 FROM gone
    RETURNING 1
)
SELECT 1 / count(*) FROM touched
