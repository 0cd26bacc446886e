-- What may be meant by which word, by config/guesses.txt.
guesses AS (
    SELECT split_part(line, ' ', 1) AS meaning, split_part(line, ' ', 2) AS word
    FROM regexp_split_to_table({$guesses}::text, E'\n') line
)
