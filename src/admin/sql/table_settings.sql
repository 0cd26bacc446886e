-- use: desk table_settings
-- Of the outbox and the relay's own tables: the quoted name, whether a crash empties it, and whether autovacuum is off.
-- $1 text[] the tables, quoted.
SELECT name, relpersistence = 'u',
       EXISTS (SELECT FROM unnest(reloptions) o (text)
               WHERE text IN ('autovacuum_enabled=false', 'autovacuum_enabled=off', 'autovacuum_enabled=0',
                              'autovacuum_enabled=no'))
FROM unnest($1::text[]) name
JOIN pg_catalog.pg_class c ON c.oid = to_regclass(name)
