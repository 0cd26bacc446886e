-- use: desk lock_holders
-- Who holds locks on the tables, up to three sessions or prepared transactions, what ends the first of them, and
-- whether they are none of a relay and keep others from rows.
-- $1 to $4 text the tables, quoted; NULL: none.
--
-- A lock that keeps writers out of the table is what kept the statement waiting; if there is none, it was a row's, and
-- a transaction that writes holds it: hardly that of another relay, which is short. Only if nobody writes, a vacuum or
-- a reader was in the way of what `init` changes. What sessions of other roles do, and since when, only members of
-- pg_read_all_stats see.
WITH held AS (
    SELECT l.pid, c.relname,
           CASE WHEN l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') THEN 3
                WHEN l.mode IN ('RowShareLock', 'RowExclusiveLock') THEN 2
                ELSE 1 END AS rank,
           a.*, gid
    FROM pg_catalog.pg_locks l
    JOIN pg_catalog.pg_class c ON c.oid = l.relation
    LEFT JOIN LATERAL (
        SELECT usename, application_name AS name, state, xact_start
        FROM pg_catalog.pg_stat_activity
        WHERE pg_stat_activity.pid = l.pid
    ) a ON true
    LEFT JOIN pg_catalog.pg_prepared_xacts p ON l.pid IS NULL AND p.transaction IN (
        SELECT transactionid FROM pg_catalog.pg_locks t
        WHERE t.pid IS NULL AND t.virtualtransaction = l.virtualtransaction)
    WHERE l.locktype = 'relation' AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
      AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
      AND l.relation IN (to_regclass($1), to_regclass($2), to_regclass($3), to_regclass($4))
), first AS (
    SELECT DISTINCT ON (pid, gid) *
    FROM held
    WHERE rank = (SELECT max(rank) FROM held)
    ORDER BY pid, gid, relname
), chosen AS (
    SELECT *
    FROM first
    WHERE name NOT LIKE 'outbox-relay/%' OR name IS NULL
       OR NOT EXISTS (SELECT FROM first WHERE name NOT LIKE 'outbox-relay/%' OR name IS NULL)
    ORDER BY xact_start LIMIT 3
)
SELECT string_agg(
           CASE WHEN pid IS NULL THEN 'prepared transaction' || coalesce(' ' || quote_literal(gid), '')
                ELSE 'pid ' || pid || ' (role "' || usename || '"'
                     || CASE WHEN name <> '' THEN ', ' || name ELSE '' END
                     || coalesce(', ' || state || to_char(xact_start AT TIME ZONE 'UTC',
                                                          '" since "YYYY-MM-DD"T"HH24:MI:SS"Z"'), '')
                     || ')' END || ' on ' || relname, ', '),
       (array_agg(
           CASE WHEN pid IS NULL THEN 'ROLLBACK PREPARED ' || quote_literal(gid) || '; or COMMIT PREPARED'
                ELSE 'SELECT pg_catalog.pg_terminate_backend(' || pid || ');' END))[1],
       coalesce(bool_or(rank > 1 AND coalesce(name, '') NOT LIKE 'outbox-relay/%'), false)
FROM chosen
