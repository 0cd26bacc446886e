-- use: desk order_trigger if by_slice
-- The order trigger of the outbox, with NULL and false if there is none: its state (pg_trigger.tgenabled); whether it
-- and its function are as `init` makes them; the first function of init's that belongs to neither the outbox's owner
-- nor a superuser, and its owner; the last trigger that runs after it and may change the row; what the id column draws
-- by itself; a generated column of the key, which has no value yet when triggers run; whether the sequence of that name
-- belongs to the id column; whether the outbox is a partition that is chosen by the id.
-- $1 name the trigger; $2 text what the functions' names begin with; $3 text the body of the trigger's; $4 text[] its
-- settings; $5 name the id column; $6 name the key column, or ''; $7 text the columns of the key's expression, as
-- "a = DEFAULT, b = DEFAULT"; $8 text the sequence, quoted.
-- 7 is TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_INSERT (pg_trigger.h), and nothing else.
SELECT t.tgenabled,
       coalesce(t.tgtype = 7 AND t.tgqual IS NULL AND p.prosrc = $3 AND NOT p.prosecdef
                AND p.prolang = (SELECT oid FROM pg_catalog.pg_language WHERE lanname = 'plpgsql')
                AND p.proconfig IS NOT DISTINCT FROM $4::text[], false),
       f.name, f.owner,
       (SELECT quote_ident(max(o.tgname::text COLLATE "C"))
        FROM pg_catalog.pg_trigger o
        WHERE o.tgrelid = c.oid AND NOT o.tgisinternal AND o.tgenabled IN ('O', 'A') AND o.tgtype & 7 = 7
          AND o.tgname > t.tgname),
       CASE WHEN a.attidentity <> '' THEN 'IDENTITY' WHEN a.atthasdef THEN 'DEFAULT' END,
       (SELECT quote_ident(k.attname)
        FROM pg_catalog.pg_attribute k
        WHERE k.attrelid = c.oid AND k.attgenerated <> ''
          AND (k.attname = $6::name OR strpos(', ' || $7::text, ', ' || quote_ident(k.attname) || ' = DEFAULT') > 0)
        LIMIT 1),
       EXISTS (SELECT FROM pg_catalog.pg_depend d
               WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = to_regclass($8) AND d.deptype = 'a'
                 AND d.refclassid = 'pg_catalog.pg_class'::regclass
                 AND d.refobjid = c.oid AND d.refobjsubid = a.attnum),
       EXISTS (SELECT FROM pg_partition_ancestors(c.oid) n (relid)
               JOIN pg_catalog.pg_partitioned_table r ON r.partrelid = n.relid
               JOIN pg_catalog.pg_attribute k ON k.attrelid = n.relid AND k.attname = $5::name
               WHERE k.attnum = ANY (r.partattrs))
FROM pg_catalog.pg_class c
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = $5::name
LEFT JOIN pg_catalog.pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgname = $1::name
LEFT JOIN pg_catalog.pg_proc p
    ON p.oid = t.tgfoid AND p.pronamespace = c.relnamespace AND p.proname = ($2::text || '_order')::name
LEFT JOIN LATERAL (
    SELECT o.oid::regprocedure AS name, pg_get_userbyid(o.proowner) AS owner
    FROM pg_catalog.pg_proc o
    WHERE (o.oid = t.tgfoid
           OR o.pronamespace = c.relnamespace
              AND (o.proname IN (($2 || '_order')::name, ($2 || '_gate')::name) AND o.pronargs = 0
                   OR o.proname = ($2 || '_bucket')::name AND o.pronargs = 1))
      AND o.proowner <> c.relowner
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.oid = o.proowner AND r.rolsuper)
    ORDER BY o.oid LIMIT 1
) f ON true
WHERE c.oid = to_regclass({outbox_text})
