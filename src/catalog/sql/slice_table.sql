-- use: desk slice_table if by_slice
-- Whether the slice table exists, whether this role may read it, and whether it is the relay's own. It must be a plain
-- table with int columns, because reading a view, or casting a type of someone else, may run its owner's code.
SELECT own.oid IS NOT NULL,
       coalesce(has_table_privilege(own.oid, 'SELECT'), false),
       own.relkind = 'r'
       AND (SELECT count(*)
            FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = own.oid AND a.attname IN ('slice', 'slices') AND NOT a.attisdropped
              AND a.atttypid = 'int4'::regtype) = 2
       AND (pg_has_role(own.relowner, outbox.relowner, 'MEMBER')
            OR own.relowner = (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user))
FROM (VALUES (to_regclass({slice_table_text}))) AS t (oid)
LEFT JOIN pg_catalog.pg_class own ON own.oid = t.oid
LEFT JOIN pg_catalog.pg_class outbox ON outbox.oid = to_regclass({outbox_text})
