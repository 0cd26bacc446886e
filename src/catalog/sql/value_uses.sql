-- The functions, operators, types and other relations that "relay_value", a view of SQL of the configuration, uses and
-- that are not PostgreSQL's own: what it is, its owner, why it cannot be trusted (NULL: it can), and whether it reads
-- the clock. The relay works with the rights of the outbox's owner, of this role and of superusers anyway. Whoever may
-- create objects in the schema of a function or of an operator can take its place by another one that fits its
-- arguments better.
-- $1 text '' for that view; "row" for what is used when a whole row is read, the types of all columns with their casts;
-- "raw" for what is used when a row that is kept as a whole is read again: no casts, and of types only domains, to
-- which their owner may add a constraint.
WITH RECURSIVE reach (class, id) AS (
    SELECT 'pg_catalog.pg_rewrite'::regclass::oid, r.oid
    FROM pg_catalog.pg_rewrite r
    WHERE $1 = '' AND r.ev_class = to_regclass('pg_temp.relay_value')
    UNION
    SELECT 'pg_catalog.pg_type'::regclass, a.atttypid
    FROM pg_catalog.pg_attribute a
    WHERE $1 <> '' AND a.attrelid = to_regclass({outbox_text}) AND a.attnum > 0 AND NOT a.attisdropped
    {reach}
), near AS (
    SELECT r.oid
    FROM pg_catalog.pg_roles r
    WHERE r.rolsuper OR r.rolname = current_user
       OR r.oid = (SELECT c.relowner FROM pg_catalog.pg_class c WHERE c.oid = to_regclass({outbox_text}))
), trusted AS (
    SELECT oid FROM near
    UNION
    SELECT r.oid
    FROM pg_catalog.pg_roles r
    JOIN pg_catalog.pg_database d ON r.rolname = 'pg_database_owner' AND d.datname = current_database()
    WHERE d.datdba IN (SELECT oid FROM near)
), relations AS (
    SELECT c.oid, c.relowner, c.relnamespace
    FROM pg_catalog.pg_rewrite r
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
    JOIN pg_catalog.pg_class c ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = c.oid
    WHERE $1 = '' AND r.ev_class = to_regclass('pg_temp.relay_value')
      AND c.oid NOT IN (r.ev_class, to_regclass({outbox_text}))
), used AS (
    SELECT 'calls ' || p.oid::regprocedure AS what, p.proowner AS owner, p.pronamespace AS namespace,
           $1 = '' AS is_chosen, p.oid AS function, false AS is_relation
    FROM reach r
    JOIN pg_catalog.pg_proc p ON r.class = 'pg_catalog.pg_proc'::regclass AND p.oid = r.id
    UNION
    SELECT 'uses the operator ' || o.oid::regoperator, o.oprowner, o.oprnamespace, $1 = '', o.oprcode, false
    FROM reach r
    JOIN pg_catalog.pg_operator o ON r.class = 'pg_catalog.pg_operator'::regclass AND o.oid = r.id
    UNION
    SELECT 'uses the type ' || format_type(t.oid, NULL), t.typowner, t.typnamespace, false, NULL, false
    FROM reach r
    JOIN pg_catalog.pg_type t ON r.class = 'pg_catalog.pg_type'::regclass AND t.oid = r.id
    WHERE $1 <> 'raw' OR t.typtype = 'd'
    UNION
    SELECT 'names ' || oid::regclass, relowner, relnamespace, false, NULL, true FROM relations
)
SELECT what, owner.rolname,
       CASE WHEN is_relation THEN 'which is another relation than the outbox'
            WHEN used.owner NOT IN (SELECT oid FROM trusted) THEN
                format('whose owner "%s" is neither the owner of the outbox, nor this role, nor a superuser',
                       owner.rolname)
            WHEN n.nspowner NOT IN (SELECT oid FROM trusted) THEN
                format('in the schema of role "%s", which could replace it', pg_get_userbyid(n.nspowner))
            WHEN is_chosen THEN (
                SELECT format('in the schema "%s", where %s may create another one that takes its place', n.nspname,
                              CASE a.grantee WHEN 0 THEN 'everybody'
                                             ELSE format('role "%s"', pg_get_userbyid(a.grantee)) END)
                FROM aclexplode(n.nspacl) a
                WHERE a.privilege_type = 'CREATE' AND a.grantee NOT IN (SELECT oid FROM trusted)
                LIMIT 1)
       END AS problem,
       CASE f.prokind WHEN 'f' THEN pg_get_functiondef(f.oid)
           ~* ('\m((now|timeofday|(clock|statement|transaction)_timestamp) *\('
               || '|(current_(timestamp|date|time)|localtime(stamp)?)\M)')
       END AS reads_clock
FROM used
LEFT JOIN pg_catalog.pg_proc f ON f.oid = used.function
JOIN pg_catalog.pg_namespace n ON n.oid = used.namespace
JOIN pg_catalog.pg_roles owner ON owner.oid = used.owner
WHERE used.namespace <> 'pg_catalog'::regnamespace OR is_relation
ORDER BY 3, 1
