-- use: desk open_claims
-- The transactions of claims, as an array, and their number. Each of them takes this lock first, and no session that
-- only inserts events takes it.
-- $1 text[] only these; NULL: all.
SELECT coalesce(array_agg(DISTINCT virtualtransaction), '{}'), count(DISTINCT virtualtransaction)
FROM pg_catalog.pg_locks
WHERE locktype = 'relation'
  AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
  AND relation = to_regclass({parked_text}) AND mode = 'RowExclusiveLock' AND granted AND pid <> pg_backend_pid()
  AND ($1::text[] IS NULL OR virtualtransaction = ANY ($1::text[]))
