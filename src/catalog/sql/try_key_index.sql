-- Creates an index on the key's expression on an empty temporary table, which is rolled back: PostgreSQL refuses an
-- expression that is not immutable. The temporary table has the outbox's name, because the expression may use it.
BEGIN;
CREATE TEMPORARY TABLE {outbox_name} (LIKE {outbox});
CREATE INDEX ON pg_temp.{outbox_name} (({key} IS NULL));
ROLLBACK
