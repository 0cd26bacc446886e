-- Part of a FROM: the partitions of the outbox as the catalog has them: name, the first id, the one after the last
-- (NULL: no such bound), whether this role may drop it, and a foreign key or a view that keeps it from that (NULL:
-- none). One that is being detached belongs to it no more.
(
    SELECT c.oid, '"' || replace(n.nspname, '"', '""') || '"."' || replace(c.relname, '"', '""') || '"' AS quoted,
           bound = 'DEFAULT' AS is_default, pg_has_role(c.relowner, 'USAGE') AS is_ours,
           (SELECT min(name) FROM (
                SELECT 'foreign key ' || quote_ident(f.conname) || ' of ' || f.conrelid::regclass
                FROM pg_catalog.pg_constraint f WHERE f.confrelid = c.oid AND f.contype = 'f'
                UNION ALL
                SELECT 'view ' || r.ev_class::regclass
                FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid
                WHERE d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.refobjid = c.oid
                  AND d.refclassid = 'pg_catalog.pg_class'::regclass) keepers (name)) AS needed_by,
           substring(bound FROM 'FROM \(''?(-?[0-9]+)''?\)')::int8 AS first_id,
           substring(bound FROM 'TO \(''?(-?[0-9]+)''?\)')::int8 AS end_id
    FROM pg_catalog.pg_inherits i
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace,
    LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound) bounds
    WHERE i.inhparent = {outbox_oid} AND coalesce(to_jsonb(i) ->> 'inhdetachpending', 'false') = 'false'
) partitions
