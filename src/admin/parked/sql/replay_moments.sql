-- The moment of --since, and that of this command: rows sent later are not replayed.
-- $1 and $2 as in since.sql.
SELECT {since}, now()
