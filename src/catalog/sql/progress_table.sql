-- use: desk progress_table if position
-- Whether the table of positions exists, and whether it is the relay's own: a plain table with columns of its types.
SELECT own.oid IS NOT NULL,
       own.relkind = 'r'
       AND (SELECT count(*)
            FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = own.oid AND NOT a.attisdropped
              AND CASE WHEN a.attname = 'slice' THEN a.atttypid = 'int4'::regtype
                       WHEN a.attname = ANY ('{top,number,low}') THEN a.atttypid = 'int8'::regtype
                       WHEN a.attname = 'ends' THEN a.atttypid = 'int8[]'::regtype
                       WHEN a.attname = 'snapshots' THEN a.atttypid = 'pg_snapshot[]'::regtype
                       WHEN a.attname = 'settled_at' THEN a.atttypid = 'timestamptz'::regtype
                       ELSE false END) = 7
       AND (pg_has_role(own.relowner, outbox.relowner, 'MEMBER')
            OR own.relowner = (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user))
FROM (VALUES (to_regclass({progress_text}))) AS t (oid)
LEFT JOIN pg_catalog.pg_class own ON own.oid = t.oid
LEFT JOIN pg_catalog.pg_class outbox ON outbox.oid = to_regclass({outbox_text})
