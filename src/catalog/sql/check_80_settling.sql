-- use: check check_80_settling
-- Of check: what the catalog shows that may keep PostgreSQL from marking, deleting or parking a row: foreign keys,
-- publications without a replica identity, triggers, rules.
(SELECT 'warning' AS level,
        format('foreign key %I of table %s references the outbox: a row that it references can be neither'
               ' {if keeps_sent}purged{else}deleted{end} nor parked, and its key waits', conname, conrelid::regclass)
            AS text,
        'make the foreign key ON DELETE CASCADE or SET NULL, or drop it' AS fix
 FROM pg_catalog.pg_constraint
 WHERE confrelid = {outbox_oid} AND contype = 'f' AND conparentid = 0 AND confdeltype IN ('a', 'r')
 ORDER BY conrelid::regclass::text, conname)
UNION ALL
(SELECT 'error',
        format('publication %I publishes each %s of the outbox, which has no replica identity: PostgreSQL refuses them',
               p.pubname, CASE WHEN {if marking}p.pubupdate AND p.pubdelete{else}false{end} THEN 'UPDATE and DELETE'
                               WHEN p.pubdelete THEN 'DELETE' ELSE 'UPDATE' END),
        format('add a primary key, or ALTER TABLE %s REPLICA IDENTITY FULL;', {outbox_text})
 FROM pg_catalog.pg_class c
 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 JOIN pg_catalog.pg_publication_tables t ON t.schemaname = n.nspname AND t.tablename = c.relname
 JOIN pg_catalog.pg_publication p ON p.pubname = t.pubname
 WHERE c.oid = {outbox_oid} AND (p.pubdelete OR {if marking}p.pubupdate{else}false{end})
   AND (c.relreplident = 'n'
        OR c.relreplident IN ('d', 'i') AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_index i
            WHERE i.indrelid = c.oid
              AND CASE c.relreplident WHEN 'd' THEN i.indisprimary ELSE i.indisreplident END))
 ORDER BY quote_ident(p.pubname))
UNION ALL
(SELECT 'warning', format('%s %I runs when the relay settles a row, with the relay''s rights: a row for which it fails,'
                          ' or whose settling it undoes, waits with its key', what, name), ''
 FROM (
     -- 8 is TRIGGER_TYPE_DELETE, 16 TRIGGER_TYPE_UPDATE (pg_trigger.h).
     SELECT 'trigger', tgname
     FROM pg_catalog.pg_trigger
     WHERE tgrelid = {outbox_oid} AND NOT tgisinternal AND tgenabled <> 'D'
       AND tgname NOT IN ('{position_trigger}', '{order_trigger}_kept')
       AND tgtype & {if marking}(8 | 16){else}8{end} <> 0
     UNION ALL
     SELECT 'rule', rulename
     FROM pg_catalog.pg_rewrite
     WHERE ev_class = {outbox_oid}
 ) settling (what, name)
 ORDER BY what, name)
