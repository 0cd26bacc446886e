-- The columns of the outbox that a SET list sets or reads, quoted as names: its rule "relay_list" depends on them.
SELECT string_agg('"' || replace(attname, '"', '""') || '"', ', ' ORDER BY attnum)
FROM pg_catalog.pg_rewrite r
JOIN pg_catalog.pg_depend d
    ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
       AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = to_regclass({outbox_text})
JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE r.rulename = 'relay_list' AND r.ev_class = to_regclass('pg_temp.relay_value')
