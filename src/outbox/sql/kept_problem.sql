-- Part of computed_parked: why a row that is kept as a whole is not sent; NULL: it is. It has the columns that the
-- table had then. One that a message is made of and that it lacks would be NULL, one that had another type something
-- else, and one that the table has no more would be missing where whole rows are read. A column is taken for read if
-- the configuration has its name anywhere, and all are if it has the table's or a backslash. The UPDATE adds to the
-- JSON object: of two values of one name the last counts.
CASE WHEN raw IS NOT NULL THEN (
    SELECT format('the table has changed since this row was kept: %s: UPDATE %s SET raw = left(raw, -1) || %s || ''}'''
                  || ' WHERE seq = %s', what, {parked_text}, change, seq)
    FROM (
        SELECT raw::json AS kept, raw::json->'column types' AS types, mapping,
               strpos(mapping, '\') > 0 OR strpos(mapping, lower(relname)) > 0 AS reads_rows
        FROM (SELECT lower({mapping}) AS mapping OFFSET 0) configured, pg_catalog.pg_class
        WHERE oid = {oid_of:outbox}
    ) then_kept,
    LATERAL (
        SELECT name, type, types->>name AS was, kept->name IS NOT NULL AS is_kept,
               reads_rows OR strpos(mapping, lower(replace(name, '"', '""'))) > 0 AS is_read,
               count(*) FILTER (WHERE type IS NULL) OVER (PARTITION BY coalesce(type, types->>name)) AS gone,
               min(name) FILTER (WHERE type IS NULL) OVER (PARTITION BY coalesce(type, types->>name)) AS gone_name
        FROM (
            SELECT attname::text AS name, format_type(atttypid, NULL) AS type
            FROM pg_catalog.pg_attribute
            WHERE attrelid = {oid_of:outbox} AND attnum > 0 AND NOT attisdropped
            UNION ALL
            SELECT DISTINCT name, NULL
            FROM json_object_keys(kept) name
            WHERE name <> 'column types' AND name NOT IN (
                SELECT attname FROM pg_catalog.pg_attribute
                WHERE attrelid = {oid_of:outbox} AND attnum > 0 AND NOT attisdropped)
        ) names
    ) compared,
    LATERAL (
        SELECT format('%L || ', ',' || to_json(name) || ':') AS adds,
               format('coalesce(to_json((VALUE)::%s)::text, ''null'')', type) AS given
    ) texts,
    LATERAL (
        SELECT 1 AS place, format('it has no column %I', name) AS what,
               adds || CASE gone WHEN 1 THEN format('(raw::json->%L)', gone_name) ELSE given END AS change
        WHERE is_read AND NOT is_kept
        UNION ALL
        SELECT 2, format('its column %I had type %s, and has type %s now', name, was, type),
               adds || given || format(' || '',"column types":'' || ((raw::json->''column types'')::jsonb || %L)',
                                       json_build_object(name, type))
        WHERE is_read AND was <> type AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_type before, pg_catalog.pg_type now
            WHERE before.oid = to_regtype(was) AND now.oid = to_regtype(type)
              AND before.typcategory = now.typcategory AND now.typcategory IN ('N', 'S'))
        UNION ALL
        SELECT 3, format('the table has no column %I any more, and whole rows may be read', name), adds || '''null'''
        WHERE type IS NULL AND reads_rows AND kept->>name IS NOT NULL
    ) problem
    ORDER BY place, name LIMIT 1
) END
