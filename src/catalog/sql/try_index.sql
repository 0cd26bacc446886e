-- Creates an index with the condition of [outbox] where on an empty temporary table, which is rolled back: PostgreSQL
-- refuses a condition that is not immutable. The temporary table has the outbox's name, because the condition may use
-- it.
BEGIN;
CREATE TEMPORARY TABLE {outbox_name} (LIKE {outbox});
CREATE INDEX ON pg_temp.{outbox_name} ((1)) WHERE {unsent};
ROLLBACK
