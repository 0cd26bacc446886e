-- Whether value_uses.sql, which is expensive to plan, can find anything: PostgreSQL records no dependency on its own
-- objects.
-- $1 text as there.
SELECT $1 = 'row' OR EXISTS (
    SELECT FROM pg_catalog.pg_rewrite r
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
    WHERE $1 = '' AND r.ev_class = to_regclass('pg_temp.relay_value')
      AND NOT (d.refclassid = 'pg_catalog.pg_class'::regclass
               AND d.refobjid IN (r.ev_class, to_regclass({outbox_text})))
) OR EXISTS (
    SELECT FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid AND t.typnamespace <> 'pg_catalog'::regnamespace
    WHERE $1 = 'raw' AND a.attrelid = to_regclass({outbox_text}) AND a.attnum > 0 AND NOT a.attisdropped
)
