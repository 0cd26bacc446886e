-- Part: no note says that PostgreSQL refuses this row of the outbox (catalog/refused.h). Whether there are notes at all
-- is looked up once, because they are rare, and the identity is computed only of a row whose id a note has. A note of
-- an older version has no identity: it is that of any row with its id. Where topics are computed, a CASE puts this
-- condition first: PostgreSQL evaluates conditions in an order of its own, and a row with a note may be one whose topic
-- cannot be computed.
(
    NOT EXISTS (SELECT FROM {parked} noted WHERE {is_note})
    OR {id} NOT IN (SELECT noted.id FROM {parked} noted WHERE {is_note})
    OR ({id}, {identity}) NOT IN (
        SELECT noted.id, noted.identity FROM {parked} noted WHERE {is_note}))
