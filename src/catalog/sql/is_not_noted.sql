-- Part: no note says that PostgreSQL refuses this row of the outbox (catalog/refused.h). Whether there are notes at all
-- is looked up once, because they are rare. The event id tells another row apart that was given the same id after a
-- TRUNCATE. Where topics are computed, a CASE puts this condition first: PostgreSQL evaluates conditions in an order of
-- its own, and a row with a note may be one whose topic cannot be computed.
(
    NOT EXISTS (SELECT FROM {parked} noted WHERE {is_note})
    OR {id} NOT IN (SELECT noted.id FROM {parked} noted WHERE {is_note})
    OR ({id}, {noted_event_id}) NOT IN (
        SELECT noted.id, noted.event_id::text FROM {parked} noted WHERE {is_note}))
