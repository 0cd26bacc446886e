-- use: desk parked_indexes
-- The valid partial indexes of the parked table: the predicate, and the columns.
-- $1 text the parked table, quoted.
SELECT pg_get_expr(indpred, indrelid),
       (SELECT string_agg(pg_get_indexdef(indexrelid, place, true), ', ' ORDER BY place)
        FROM generate_series(1, indnkeyatts::int) place)
FROM pg_catalog.pg_index
WHERE indrelid = $1::regclass AND indisvalid AND indpred IS NOT NULL
