-- Whether there are unsent rows, locked ones included, or parked rows whose time has come; and the number of parked
-- and dead rows, counted up to 1,000. A row without an id can never be claimed: a drain counts it without waiting for
-- it.
SELECT EXISTS (SELECT FROM {outbox} WHERE {claimable} AND {has_id})
       OR EXISTS (SELECT FROM {parked} head WHERE due <= now() AND sent_at IS NULL AND state <> 'dead' AND {is_head}),
       (SELECT count(*) FROM (SELECT FROM {parked} WHERE sent_at IS NULL LIMIT 1000) counted)
           + {lost_rows}
