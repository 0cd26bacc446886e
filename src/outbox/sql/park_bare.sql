-- Moves a row that PostgreSQL cannot read, with its id only, as dead. Raises an error when it does not move it.
-- $1 tid; $2 text why.
WITH gone AS (
    DELETE FROM {outbox} WHERE ctid = $1::tid RETURNING {id} AS id
), touched AS (
    INSERT INTO {parked} (id, state, error, attempts) SELECT id, 'dead', $2::text, 1 FROM gone RETURNING 1
)
SELECT 1 / count(*) FROM touched
