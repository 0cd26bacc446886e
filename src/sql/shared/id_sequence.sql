-- use: desk id_sequence if integer_ids
-- The sequence that the ids are drawn from: that of the order trigger while it is enabled, or of the numbers, or that
-- of an identity column or of the column's default: its quoted name, whether this role may read it, and how it counts.
SELECT '"' || replace(n.nspname, '"', '""') || '"."' || replace(c.relname, '"', '""') || '"' AS quoted,
       has_sequence_privilege(c.oid, 'SELECT') AS is_readable, s.seqcycle AS cycles, s.seqcache AS cache,
       s.seqincrement AS step, c.oid
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_depend d
    ON d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype IN ('i', 'a')
       AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
    OR d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass
       AND d.objid = (SELECT oid FROM pg_catalog.pg_attrdef WHERE adrelid = a.attrelid AND adnum = a.attnum)
JOIN pg_catalog.pg_sequence s
    ON s.seqrelid = CASE d.classid WHEN 'pg_catalog.pg_class'::regclass THEN d.objid ELSE d.refobjid END
JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (
    SELECT d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype = 'a' AS is_owned,
           c.relname = ({stem_text} || '{order_sequence_suffix}')::name
           AND ({if numbered}true{else}false{end}
                OR EXISTS (SELECT FROM pg_catalog.pg_trigger t
                           WHERE t.tgrelid = a.attrelid AND t.tgname = '{order_trigger}'
                             AND t.tgenabled IN ('O', 'A'))) AS is_ordered
) which
WHERE a.attrelid = {outbox_oid} AND a.attname = {id_name} AND (is_ordered OR NOT is_owned)
ORDER BY is_owned DESC, c.oid LIMIT 1
