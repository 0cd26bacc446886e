-- What "relay_value", a view of one configured expression, depends on besides the row, so that it may be another value
-- when the row is sent again; no row: nothing. Of PostgreSQL's own functions that are STABLE, those without an
-- argument can depend on nothing else; the others are the ones that are named here. Most are STABLE because of
-- settings that every session of the relay has (pg/connect.c), or because they call others. No dependency is kept on
-- such functions, so they are found in the view's rule. The time of the day decides what a timetz is. A date and time
-- may be written as a word, also inside a range, an array, a composite value or a cstring: types of these categories.
-- $1 text the expression.
SELECT used
FROM (
    SELECT ev_action::text AS rule FROM pg_catalog.pg_rewrite WHERE ev_class = 'pg_temp.relay_value'::regclass
) view,
LATERAL (
    SELECT 'calls ' || p.oid::regprocedure AS used
    FROM regexp_matches(rule, ':(?:funcid|opfuncid) ([0-9]+)', 'g') called (ids)
    JOIN pg_catalog.pg_proc p ON p.oid = ids[1]::oid
    WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.provolatile = 's'
      AND (p.pronargs = 0 AND p.proname NOT IN ('current_database', 'current_schema')
           OR p.proname = 'age' AND p.pronargs = 1
           OR p.proname IN ('current_setting', 'current_schemas', 'mxid_age', 'row_security_active')
           OR p.proname ~ '^(pg_|txid_|has_|to_reg|(table|query|cursor|schema|database)_to_xml|(obj|col|shobj)_desc)'
              AND p.proname NOT IN ('pg_typeof', 'pg_encoding_to_char', 'pg_char_to_encoding')
           OR 'timetz'::regtype = ANY (p.proargtypes || p.prorettype))
    UNION ALL
    SELECT 'uses ' || CASE WHEN op[1]::int4 < 9 THEN 'the current date or time' ELSE 'the current role' END
    FROM regexp_matches(rule, '\{SQLVALUEFUNCTION :op ([0-9]+)', 'g') op
    WHERE op[1]::int4 < 13
    UNION ALL
    SELECT 'has the time ' || word[1]
    FROM regexp_matches($1, '[''$][^'']*\m(now|today|tomorrow|yesterday)\M', 'i') word
    WHERE EXISTS (
        SELECT
        FROM regexp_matches(rule, ':(?:consttype|resulttype) ([0-9]+)', 'g') made (ids)
        JOIN pg_catalog.pg_type t ON t.oid = ids[1]::oid
        LEFT JOIN pg_catalog.pg_type element ON t.typcategory = 'A' AND element.oid = t.typelem
        WHERE coalesce(element.typcategory, t.typcategory) IN ('D', 'R', 'A', 'C', 'P'))
) problems
LIMIT 1
