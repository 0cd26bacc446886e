-- The rows that `dead list` and `dead show` print, and that `dead retry` and `dead drop` would change: the ids that
-- name no row (NULL: none), seq (NULL: there is no row), and the values. The parameters are those of chosen_by_id.sql
-- or chosen_by_filter.sql.
WITH {chosen}, done AS MATERIALIZED (
    SELECT {row}
    FROM {parked} JOIN chosen ON seq = chosen_seq
)
SELECT words, done.* FROM missing_words LEFT JOIN done ON true ORDER BY seq {direction}
