-- Part of computed_parked: why a row that is kept as a whole is not sent; NULL: it is. It has what the table had then:
-- a column of the mapping that it lacks, or that had another type, would be NULL or something else, and so would a
-- whole row. The UPDATE says what the column is to be.
CASE WHEN relay_locked.raw IS NOT NULL THEN (
    SELECT format('the table has changed since this row was kept: %s: UPDATE %s SET raw = (raw::jsonb %s)::text'
                  || ' WHERE seq = %s', what, {parked_text}, change, relay_locked.seq)
    FROM (
        SELECT relay_locked.raw::json AS kept,
               ARRAY(SELECT attname::text FROM pg_catalog.pg_attribute
                     WHERE attrelid = {oid_of:outbox} AND attnum > 0 AND NOT attisdropped) AS names
    ) then_and_now,
    LATERAL (
        SELECT array_agg(name) AS gone
        FROM json_object_keys(kept) name
        WHERE name <> ALL (names) AND name <> 'column types'
    ) others,
    LATERAL (
        SELECT format('it has no column %I', attname) AS what,
               format('|| jsonb_build_object(%L, %s)', attname,
                      CASE cardinality(gone) WHEN 1 THEN format('raw::jsonb->%L', gone[1]) ELSE 'NULL' END) AS change
        FROM pg_catalog.pg_attribute a
        WHERE attrelid = {oid_of:outbox} AND attnum > 0 AND NOT attisdropped AND {is_read} AND kept->attname IS NULL
        UNION ALL
        SELECT format('its column %I had type %s, and has type %s now', attname, was, is_now), '- ''column types'''
        FROM pg_catalog.pg_attribute a,
             LATERAL (SELECT kept->'column types'->>attname AS was, format_type(atttypid, NULL) AS is_now) types
        WHERE attrelid = {oid_of:outbox} AND attnum > 0 AND NOT attisdropped AND {is_read} AND was <> is_now
        UNION ALL
        SELECT format('the table has no column %I, and whole rows are read', gone[1]), format('- %L', gone[1])
        WHERE gone IS NOT NULL AND {reads_whole_rows}
        LIMIT 1
    ) problem
) END
