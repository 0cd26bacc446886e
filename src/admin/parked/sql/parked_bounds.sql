-- The bounds of seq of all parked rows, both exclusive, so that a request ends although rows die meanwhile; and the
-- moment of --since.
-- $1 and $2 as in since.sql.
SELECT coalesce((SELECT min(seq) FROM {parked}), 1) - 1, coalesce((SELECT max(seq) FROM {parked}), 0) + 1, {since}
