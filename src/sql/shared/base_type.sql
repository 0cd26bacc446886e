-- Part: the base type of the column "a" of pg_attribute. A domain may be based on another domain; of other types the
-- recursive query, which reads all of pg_type, is not run.
CASE WHEN (SELECT typtype FROM pg_catalog.pg_type WHERE oid = a.atttypid) <> 'd' THEN
    format_type(a.atttypid, a.atttypmod)
ELSE (WITH RECURSIVE base (oid, typmod) AS (
    SELECT a.atttypid, a.atttypmod
    UNION ALL
    SELECT d.typbasetype, d.typtypmod
    FROM base b JOIN pg_catalog.pg_type d ON d.oid = b.oid
    WHERE d.typtype = 'd'
)
SELECT format_type(b.oid, b.typmod)
FROM base b JOIN pg_catalog.pg_type u ON u.oid = b.oid
WHERE u.typtype <> 'd') END
