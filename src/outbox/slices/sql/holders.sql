-- The table's file node (NULL when another table has its name now) and, for each holder of RowExclusiveLock, its
-- virtual transaction id, whether it is a prepared transaction, and its xid8 if the snapshot lists it as running.
-- Without holders there is one row with NULLs. Locks on parents of the table count too: an INSERT into a parent draws
-- the id before it locks the table itself; and an INSERT into a partition locks that alone.
WITH RECURSIVE above (oid) AS (
    SELECT {outbox_oid}::oid
    UNION
    SELECT i.inhparent FROM pg_catalog.pg_inherits i JOIN above ON i.inhrelid = above.oid
), {if partitioned}parts (oid) AS (
    SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = {outbox_oid}
), {end}locks AS MATERIALIZED (
    SELECT locktype, virtualtransaction, transactionid, pid
    FROM pg_catalog.pg_locks
    WHERE granted
      AND (locktype = 'transactionid' AND mode = 'ExclusiveLock'
           OR locktype = 'relation' AND mode = 'RowExclusiveLock' AND relation = ANY (ARRAY(
               SELECT oid FROM above{if partitioned} UNION ALL SELECT oid FROM parts{end}))
              AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()))
)
SELECT file.node AS file, virtualtransaction AS transaction, holder.prepared, running.xid
FROM (SELECT {file_node}) file (node)
LEFT JOIN (
    SELECT virtualtransaction, bool_or(pid IS NULL) AS prepared
    FROM locks WHERE locktype = 'relation' GROUP BY 1
) holder ON true
LEFT JOIN (
    SELECT locks.virtualtransaction, seen.xid
    FROM locks
    JOIN pg_snapshot_xip(pg_current_snapshot()) seen (xid) ON seen.xid::xid = locks.transactionid
    WHERE locks.locktype = 'transactionid'
) running USING (virtualtransaction)
