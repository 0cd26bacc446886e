-- Makes rows due. A row with an earlier parked row of its key becomes due only when that row has left.
-- Parameters and result are those of dead_select.sql.
WITH {chosen}, done AS MATERIALIZED (
    UPDATE {parked} head
    SET state = CASE WHEN state NOT IN ('dead', 'retry', 'behind') THEN state
                     WHEN {is_head} THEN 'retry'
                     ELSE 'behind' END,
        due = CASE WHEN {is_note} OR {is_head} THEN now() END,
        attempts = 0
    FROM chosen
    WHERE seq = chosen_seq
    RETURNING {row}
)
SELECT words, done.* FROM missing_words LEFT JOIN done ON true ORDER BY seq
