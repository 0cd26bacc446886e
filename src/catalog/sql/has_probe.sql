-- Part: the destination has a probe: a parked row that waits for it and will become due.
EXISTS (SELECT FROM {parked} head WHERE head.waits_for = {argument} AND head.due < 'infinity' AND {is_head})
