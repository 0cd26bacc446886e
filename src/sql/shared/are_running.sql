-- Part: all long holders "xids" are running in the statement's snapshot (docs/internals/horizon.md); false when there
-- are none.
cardinality(xids) > 0 AND cardinality(xids) = (
    SELECT count(*) FROM pg_snapshot_xip(pg_current_snapshot()) running (xid) WHERE running.xid = ANY (xids))
