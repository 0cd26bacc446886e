-- Part: of a parked row p, that it has no key or no earlier unsent row of its key is parked.
(p.`key` IS NULL OR NOT EXISTS (
      SELECT 1 FROM {parked} e FORCE INDEX (key_order)
      WHERE e.key_hash = p.key_hash AND e.`key` = p.`key` AND e.sent_at IS NULL
        AND (e.id < p.id OR (e.id = p.id AND e.seq < p.seq))))
