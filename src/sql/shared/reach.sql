-- Part: the objects that those of `reach` use, down to functions. A function is a leaf: what it calls is its owner's
-- affair. The argument says whether casts of a type count.
UNION
SELECT used.class, used.id
FROM reach r
CROSS JOIN LATERAL (
    SELECT 'pg_catalog.pg_class'::regclass::oid AS class, i.indexrelid AS id
    FROM pg_catalog.pg_index i
    WHERE r.class = 'pg_catalog.pg_class'::regclass AND i.indrelid = r.id
    UNION ALL
    SELECT 'pg_catalog.pg_statistic_ext'::regclass, s.oid
    FROM pg_catalog.pg_statistic_ext s
    WHERE r.class = 'pg_catalog.pg_class'::regclass AND s.stxrelid = r.id
    UNION ALL
    SELECT 'pg_catalog.pg_constraint'::regclass, o.oid
    FROM pg_catalog.pg_constraint o
    WHERE r.class = 'pg_catalog.pg_type'::regclass AND o.contypid = r.id
    UNION ALL
    SELECT 'pg_catalog.pg_cast'::regclass, k.oid
    FROM pg_catalog.pg_cast k
    WHERE {if borrowed}true{else}$1 <> 'raw'{end} AND r.class = 'pg_catalog.pg_type'::regclass
      AND r.id IN (k.castsource, k.casttarget)
    UNION ALL
    SELECT 'pg_catalog.pg_class'::regclass, t.typrelid
    FROM pg_catalog.pg_type t
    WHERE r.class = 'pg_catalog.pg_type'::regclass AND t.oid = r.id AND t.typrelid <> 0
    UNION ALL
    SELECT d.refclassid, d.refobjid
    FROM pg_catalog.pg_depend d
    WHERE d.classid = r.class AND d.objid = r.id AND NOT r.class = 'pg_catalog.pg_proc'::regclass
      AND d.refclassid IN ('pg_catalog.pg_type'::regclass, 'pg_catalog.pg_proc'::regclass,
                           'pg_catalog.pg_operator'::regclass)
) used
