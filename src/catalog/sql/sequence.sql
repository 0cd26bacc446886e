-- The sequence that the id column draws from, that of an identity column or of its default: its quoted name, whether
-- this role may read it, and how it counts.
-- $1 oid the outbox; $2 name the column.
SELECT '"' || replace(n.nspname, '"', '""') || '"."' || replace(c.relname, '"', '""') || '"',
       has_sequence_privilege(c.oid, 'SELECT'), s.seqcycle, s.seqcache, s.seqincrement, c.oid
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_depend d
    ON d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype = 'i'
       AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
    OR d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass
       AND d.objid = (SELECT oid FROM pg_catalog.pg_attrdef WHERE adrelid = a.attrelid AND adnum = a.attnum)
JOIN pg_catalog.pg_sequence s ON s.seqrelid = CASE d.deptype WHEN 'i' THEN d.objid ELSE d.refobjid END
JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE a.attrelid = $1::oid AND a.attname = $2
ORDER BY c.oid LIMIT 1
