-- The rows that `dead list` and `dead show` print, and that `dead retry` and `dead drop` would change.
-- Returns the ids that name no row (NULL: none), seq (NULL: there is no row), and the values.
-- By ids: $1 text[] the ids. By a filter: $1 int8 and $2 int8 the bounds of seq, both exclusive; NULL for any: $3 text
-- the type; $4 text the topic; $5 text a regular expression for the topic; $6 timestamptz parked since.
WITH {chosen}, done AS MATERIALIZED (
    SELECT {row}
    FROM {parked} JOIN chosen ON seq = chosen_seq
)
SELECT words, done.* FROM missing_words LEFT JOIN done ON true ORDER BY seq {direction}
