-- use: figures refused_rows
-- section: rows that PostgreSQL refuses
-- without: {"refused": 0}
-- How many rows PostgreSQL refuses, and the id and the error of the one that has waited longest.
SELECT jsonb_build_object(
    'refused', count(*),
    '_refused_row', (array_agg(left({if numbered}coalesce(event_id::text, id::text){else}id::text{end}, 64)
                               ORDER BY parked_at, seq))[1],
    '_refused_why', (array_agg(left(split_part(split_part(error, '{words_of_database}', 1), ': database: ', 1), 300)
                               ORDER BY parked_at, seq))[1])
FROM (SELECT * FROM {parked} WHERE {is_note} LIMIT {notes_max}) refused
