-- use: desk own_tables if by_slice
-- The slice table, and the table of positions: whether it exists, whether this role may read it, and whether it is the
-- relay's own. It must be a plain table with columns of its types, because reading a view, or casting a type of someone
-- else, may run its owner's code.
SELECT own.oid IS NOT NULL,
       coalesce(has_table_privilege(own.oid, 'SELECT'), false),
       own.relkind = 'r'
       AND (SELECT count(*)
            FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = own.oid AND NOT a.attisdropped
              AND a.attname || ' ' || a.atttypid::regtype = ANY (t.columns)) = cardinality(t.columns)
       AND (pg_has_role(own.relowner, outbox.relowner, 'MEMBER')
            OR own.relowner = (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user))
FROM (VALUES (1, {slice_table_text}, '{slice integer,slices integer}'::text[]),
             (2, {progress_text}, '{slice integer,top bigint,number bigint,low bigint,ends bigint[],'
              'snapshots pg_snapshot[],settled_at timestamp with time zone}')) AS t (place, name, columns)
LEFT JOIN pg_catalog.pg_class own ON own.oid = to_regclass(t.name)
LEFT JOIN pg_catalog.pg_class outbox ON outbox.oid = to_regclass({outbox_text})
ORDER BY place
