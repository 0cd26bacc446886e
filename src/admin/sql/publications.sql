-- use: desk publications
-- The publications that publish changes of the outbox although it has no replica identity, and which of the changes
-- that the relay makes PostgreSQL therefore refuses.
SELECT quote_ident(p.pubname),
       CASE WHEN p.pubupdate AND {if marking}true{else}false{end} AND p.pubdelete THEN 'UPDATE and DELETE'
            WHEN p.pubdelete THEN 'DELETE' ELSE 'UPDATE' END
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_publication_tables t ON t.schemaname = n.nspname AND t.tablename = c.relname
JOIN pg_catalog.pg_publication p ON p.pubname = t.pubname
WHERE c.oid = to_regclass({outbox_text})
  AND (p.pubdelete OR p.pubupdate AND {if marking}true{else}false{end})
  AND (c.relreplident = 'n'
       OR c.relreplident IN ('d', 'i') AND NOT EXISTS (
           SELECT FROM pg_catalog.pg_index i
           WHERE i.indrelid = c.oid
             AND CASE c.relreplident WHEN 'd' THEN i.indisprimary ELSE i.indisreplident END))
ORDER BY 1
