-- use: desk order_grants if by_slice
-- The grants that the order trigger's sequence needs: to draw, for the roles that may insert into the outbox, by itself
-- or by a view or a table that it is a partition of; and what roles may do with the sequence from which its ids were
-- drawn before.
-- $1 oid the sequence of before, or 0; $2 text the trigger's, quoted.
WITH relations AS (
    SELECT to_regclass({outbox_text}) AS oid
    UNION
    SELECT relid FROM pg_partition_ancestors(to_regclass({outbox_text})) relid
    UNION
    SELECT r.ev_class
    FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid
    WHERE d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass
      AND d.refobjid = to_regclass({outbox_text})
)
SELECT DISTINCT format('GRANT %s ON SEQUENCE %s TO %s;', privilege, $2::text,
                       CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)
FROM (
    SELECT 'USAGE' AS privilege, a.grantee
    FROM relations JOIN pg_catalog.pg_class c USING (oid) CROSS JOIN aclexplode(c.relacl) a
    WHERE a.privilege_type = 'INSERT'
    UNION ALL
    SELECT 'USAGE', a.grantee
    FROM relations r JOIN pg_catalog.pg_attribute t ON t.attrelid = r.oid CROSS JOIN aclexplode(t.attacl) a
    WHERE a.privilege_type = 'INSERT'
    UNION ALL
    SELECT 'USAGE', c.relowner
    FROM relations JOIN pg_catalog.pg_class c USING (oid)
    UNION ALL
    SELECT a.privilege_type, a.grantee
    FROM pg_catalog.pg_class c CROSS JOIN aclexplode(c.relacl) a
    WHERE c.oid = $1::oid AND a.privilege_type IN ('SELECT', 'USAGE')
) needed
WHERE grantee <> (SELECT relowner FROM pg_catalog.pg_class WHERE oid = to_regclass({outbox_text}))
ORDER BY 1
