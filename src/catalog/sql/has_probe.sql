-- Part: the destination has a probe: a parked row that waits for it and will become due.
EXISTS (
    SELECT FROM {parked} head
    WHERE head.waits_for = {argument} AND head.due IS NOT NULL AND head.sent_at IS NULL AND {is_head})
