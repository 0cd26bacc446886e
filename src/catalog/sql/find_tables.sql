-- use: desk find_tables
-- The outbox, the parked and the control table by the outbox's name, in the order of describe.c: what pg_class says of
-- the outbox (NULL: it does not exist), whether triggers or rules run when a row of it is settled, and whether `init`
-- created it; whether there is a parked table, whether it is the relay's own, of any version, and the relay's own
-- columns that it lacks; whether there is a control table, whether it is the relay's own, its schema number, and if
-- this role may note one; whether the parked table has a column of the outbox's name; and, when the table is no outbox
-- but stands beside one, what its name should end with; the column by whose ranges it is partitioned into plain tables;
-- and the type of the parked ids.
-- A view, or a type of somebody else, might run its owner's code when it is read.
-- $1 text the schema; $2 text the name; $3 text what the names of the relay's own tables begin with;
-- $4 text parked_table.sql, where the types of a row's own columns are facts.
-- 24 is TRIGGER_TYPE_DELETE | TRIGGER_TYPE_UPDATE (pg_trigger.h).
SELECT outbox.relkind, outbox.relhassubclass, outbox.oid,
       EXISTS (SELECT FROM pg_catalog.pg_trigger g
               WHERE g.tgrelid = outbox.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D' AND g.tgtype & 24 <> 0
                 AND g.tgname <> '{order_trigger}_kept')
       OR EXISTS (SELECT FROM pg_catalog.pg_rewrite r WHERE r.ev_class = outbox.oid),
       obj_description(outbox.oid, 'pg_class') LIKE 'outbox-relay:%',
       parked.oid IS NOT NULL,
       (pg_has_role(parked.relowner, outbox.relowner, 'MEMBER')
        OR parked.relowner = (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user))
       AND EXISTS (SELECT FROM pg_catalog.pg_attribute a
                   WHERE a.attrelid = parked.oid AND NOT a.attisdropped
                     AND a.attname = ANY ('{state,attempts,due,waits_for,parked_at}')),
       (SELECT string_agg(needed, ', ')
        FROM regexp_matches($4, '^    ([a-z_]+) +[^{ ]', 'gn') line, unnest(line) needed
        WHERE NOT EXISTS (
            SELECT FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = parked.oid AND a.attname = needed AND NOT a.attisdropped)),
       control.oid IS NOT NULL,
       control.relkind = 'r'
       AND (SELECT count(*)
            FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = control.oid AND NOT a.attisdropped
              AND CASE WHEN a.attname = ANY ('{kind,name,value,reason,set_by}') THEN a.atttypid = 'text'::regtype
                       WHEN a.attname = 'set_at' THEN a.atttypid = 'timestamptz'::regtype
                       ELSE false END) = 6
       AND (pg_has_role(control.relowner, outbox.relowner, 'MEMBER')
            OR control.relowner = (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user)),
       substring(control.note FROM '^outbox-relay: schema ([0-9]{1,9})(;|$)'),
       pg_has_role(control.relowner, 'USAGE') AND coalesce(control.note LIKE 'outbox-relay: schema %', true),
       EXISTS (SELECT FROM pg_catalog.pg_attribute a
               WHERE a.attrelid = parked.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attname = outbox.relname),
       (SELECT own.suffix
        FROM (VALUES ('_parked', '{seq,state,attempts,due,waits_for,parked_at}'::text[]), ('_slice', '{slice,slices}'),
                     ('_control', '{kind,name,value,reason,set_by,set_at}')) AS own (suffix, columns),
             (SELECT array_agg(a.attname::text) FROM pg_catalog.pg_attribute a
              WHERE a.attrelid = outbox.oid AND a.attnum > 0 AND NOT a.attisdropped) AS kept (columns)
        WHERE own.columns <@ kept.columns
          AND (own.suffix <> '_slice' OR cardinality(kept.columns) = 2)), -- an outbox may have these, too, and more
       (SELECT a.attname
        FROM pg_catalog.pg_partitioned_table p
        JOIN pg_catalog.pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
        WHERE p.partrelid = outbox.oid AND p.partstrat = 'r' AND p.partnatts = 1
          AND NOT EXISTS (
              SELECT FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
              WHERE i.inhparent = outbox.oid AND (c.relkind <> 'r' OR c.relhassubclass))),
       (SELECT {base_type} FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = parked.oid AND a.attname = 'id' AND NOT a.attisdropped)
FROM (VALUES (to_regclass(format('%I.%I', $1::text, $2::text)))) AS t (oid)
LEFT JOIN pg_catalog.pg_class outbox ON outbox.oid = t.oid
LEFT JOIN pg_catalog.pg_class parked
    ON parked.relkind = 'r' AND parked.oid = to_regclass(format('%I.%I', $1::text, $3::text || '_parked'))
LEFT JOIN (
    SELECT *, obj_description(oid, 'pg_class') AS note FROM pg_catalog.pg_class
) control ON control.oid = to_regclass(format('%I.%I', $1::text, $3::text || '_control'))
