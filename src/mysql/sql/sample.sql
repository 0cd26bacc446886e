-- An unsent row of each topic among the first thousand.
SELECT CAST({id} AS CHAR), CAST({event_id} AS CHAR), LEFT({topic}, 1025), {key_bytes}, {type}
FROM {outbox} o JOIN (
    SELECT MIN(first_id) AS first_id
    FROM (
        SELECT {id} AS first_id, LEFT({topic}, 1025) AS topic
        FROM {outbox} o{if unsent} WHERE {unsent}{end} ORDER BY {id} LIMIT 1000
    ) firsts
    GROUP BY topic
) firsts ON {id} = firsts.first_id
ORDER BY {id} LIMIT {limit}
