-- use: desk reasons
-- Why rows are parked, the most frequent reasons first: of the rows that are tried next, and of the newest dead ones.
-- $1 int8 how many reasons.
SELECT count(*), left(coalesce(split_part(split_part(error, '{words_of_database}', 1), ': database: ', 1), ''), 120)
FROM (
    (SELECT error FROM {parked} WHERE sent_at IS NULL AND state <> 'dead' ORDER BY due LIMIT 1000)
    UNION ALL
    (SELECT error FROM {parked} WHERE state = 'dead' ORDER BY seq DESC LIMIT 1000)
) parked
GROUP BY 2
ORDER BY 1 DESC, 2 LIMIT $1::int8
