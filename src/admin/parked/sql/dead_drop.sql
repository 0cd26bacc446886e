-- Deletes rows, and makes the next row of a dropped row's key due.
-- Parameters and result are those of dead_select.sql.
WITH {chosen}, done AS MATERIALIZED (
    DELETE FROM {parked} USING chosen
    WHERE seq = chosen_seq
    RETURNING {row}
), freed AS (
    UPDATE {parked} SET state = 'retry', due = now()
    WHERE state = 'behind' AND seq IN (
        SELECT next
        FROM (
            SELECT DISTINCT {key_text:key} AS left_key
            FROM {parked} JOIN chosen ON seq = chosen_seq
            WHERE key IS NOT NULL
        ) gone,
        LATERAL (
            SELECT seq AS next
            FROM {parked} behind
            WHERE behind.key IS NOT NULL
              AND hashtextextended({key_text:behind.key}, 0) = hashtextextended(gone.left_key, 0)
              AND {key_text:behind.key} = gone.left_key
              AND sent_at IS NULL AND seq NOT IN (SELECT chosen_seq FROM chosen)
            ORDER BY id LIMIT 1
        ) nexts)
)
SELECT words, done.* FROM missing_words LEFT JOIN done ON true ORDER BY seq
