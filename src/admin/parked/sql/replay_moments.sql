-- The moment of --since, and that of this command: rows sent later are not replayed.
-- Since: $1 int8 a duration before now in ms, or else $2 timestamptz; NULL: any time.
SELECT {since}, now()
