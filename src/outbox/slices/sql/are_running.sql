-- Part: whether all of these holders (xid8[]) are running in this statement's snapshot; false when there are none.
(SELECT cardinality(xids) > 0 AND cardinality(xids) = (
            SELECT count(*) FROM pg_snapshot_xip(pg_current_snapshot()) running (xid) WHERE running.xid = ANY (xids))
 FROM (SELECT {argument} AS xids) holders)
