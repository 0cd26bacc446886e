-- What "relay_value", a view of one configured expression, is: the number of its columns; the type of the first, its
-- base type, whether its text depends on no setting, and the category of the type; whether it reads a system column;
-- and the columns that it reads, other than the id, as assignments and as names in double quotes; and whether it reads
-- whole rows, of which the catalog notes no columns.
-- $1 text the column of the ids.
SELECT (SELECT count(*) FROM pg_catalog.pg_attribute WHERE attrelid = a.attrelid AND attnum > 0),
       format_type(a.atttypid, a.atttypmod), {base_type}, p.provolatile = 'i', t.typcategory,
       reads.*,
       (SELECT strpos(ev_action::text, ':varattno 0 ') > 0 FROM pg_catalog.pg_rewrite WHERE ev_class = a.attrelid)
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
JOIN pg_catalog.pg_proc p ON p.oid = t.typoutput
CROSS JOIN (
    SELECT coalesce(bool_or(d.refobjsubid < 0), false),
           string_agg(quote_ident(o.attname) || ' = DEFAULT', ', ')
               FILTER (WHERE d.refobjsubid > 0 AND o.attname <> $1),
           string_agg('"' || replace(o.attname, '"', '""') || '"', ', ')
               FILTER (WHERE d.refobjsubid > 0 AND o.attname <> $1)
    FROM pg_catalog.pg_rewrite r
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
    JOIN pg_catalog.pg_attribute o ON o.attrelid = d.refobjid AND o.attnum = d.refobjsubid
    WHERE r.ev_class = 'pg_temp.relay_value'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass
      AND d.refobjid = to_regclass({outbox_text})
) reads
WHERE a.attrelid = 'pg_temp.relay_value'::regclass AND a.attnum = 1
