-- The grants that the order trigger's sequence needs: to draw, for the roles that may insert into the outbox; to read,
-- for those that may read the sequence from which its ids were drawn before.
-- $1 oid the sequence of before, or 0; $2 text the trigger's, quoted.
SELECT DISTINCT format('GRANT %s ON SEQUENCE %s TO %s;', privilege, $2::text,
                       CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)
FROM (
    SELECT 'USAGE' AS privilege, a.grantee, c.relowner
    FROM pg_catalog.pg_class c CROSS JOIN aclexplode(c.relacl) a
    WHERE c.oid = {oid_of:outbox} AND a.privilege_type = 'INSERT'
    UNION ALL
    SELECT 'USAGE', a.grantee, c.relowner
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute t ON t.attrelid = c.oid CROSS JOIN aclexplode(t.attacl) a
    WHERE c.oid = {oid_of:outbox} AND a.privilege_type = 'INSERT'
    UNION ALL
    SELECT 'SELECT', a.grantee, c.relowner
    FROM pg_catalog.pg_class c CROSS JOIN aclexplode(c.relacl) a
    WHERE c.oid = $1::oid AND a.privilege_type = 'SELECT'
) needed
WHERE grantee <> relowner
ORDER BY 1
