-- Part: whether all of these holders (xid8[]) are running in this statement's snapshot; false when there are none.
(CASE WHEN cardinality({argument}) = 0 THEN false
      ELSE (SELECT count(*) FROM pg_snapshot_xip(pg_current_snapshot()) running (xid)
            WHERE running.xid = ANY ({argument})) = cardinality({argument}) END)
