-- use: desk waiting_rows
-- What parked rows wait for, the most frequent first, at most five: the destination ('': an earlier row of the key that
-- does not wait for its time), the number of rows, and an error.
-- $1 int8 how many rows are looked at.
WITH first AS MATERIALIZED (
    SELECT * FROM {parked} WHERE sent_at IS NULL AND state <> 'dead' ORDER BY due LIMIT $1::int8
), early AS MATERIALIZED (
    SELECT DISTINCT {key_text} AS key_text
    FROM first
    WHERE state = 'scheduled' AND due > clock_timestamp() AND key IS NOT NULL
)
SELECT coalesce(left(waits_for, 200), ''), count(*),
       coalesce(left(min(split_part(split_part(error, '{words_of_database}', 1), ': database: ', 1)), 300), '')
FROM first
WHERE state = 'waiting' OR (state = 'behind' AND ({key_text} IN (SELECT key_text FROM early)) IS NOT TRUE)
GROUP BY 1
ORDER BY 2 DESC, 1 LIMIT 5
