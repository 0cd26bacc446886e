-- use: desk refused_rows
-- How many rows PostgreSQL refuses, and the id and the error of the one that has waited longest.
SELECT count(*) OVER (), left(id::text, 64),
       left(split_part(split_part(error, '{words_of_database}', 1), ': database: ', 1), 300)
FROM (SELECT * FROM {parked} WHERE {is_note} LIMIT {notes_max}) refused
ORDER BY parked_at, seq LIMIT 1
