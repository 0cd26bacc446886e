-- use: figures reasons
-- section: why rows are parked
-- without: {"parked_reasons": []}
-- Why rows are parked, the most frequent reasons first: of the rows that are tried next, and of the newest dead ones.
SELECT jsonb_build_object('parked_reasons', coalesce(
    jsonb_agg(jsonb_build_object('count', rows, 'reason', reason) ORDER BY rows DESC, reason), '[]'))
FROM (
    SELECT count(*) AS rows,
           left(coalesce(split_part(split_part(error, '{words_of_database}', 1), ': database: ', 1), ''), 120) AS reason
    FROM (
        (SELECT error FROM {parked} WHERE sent_at IS NULL AND state <> 'dead' ORDER BY due LIMIT 1000)
        UNION ALL
        (SELECT error FROM {parked} WHERE state = 'dead' ORDER BY seq DESC LIMIT 1000)
    ) parked
    GROUP BY 2
    ORDER BY 1 DESC, 2 LIMIT 5
) reasons
