-- Part: a row of the outbox that is unsent, and that no note says PostgreSQL refuses (catalog/refused.h). Whether
-- there are notes at all is looked up once, because they are rare. The event id tells another row apart that was given
-- the same id after a TRUNCATE.
-- A topic that is computed to see whether its sink is away (sink_is_here) is computed of such a row only, by a CASE,
-- because PostgreSQL evaluates conditions in an order of its own and a noted row may be one whose topic cannot be
-- computed.
{unsent} AND (
    NOT EXISTS (SELECT FROM {parked} noted WHERE {is_note})
    OR {id} NOT IN (SELECT noted.id FROM {parked} noted WHERE {is_note})
    OR ({id}, {noted_event_id}) NOT IN (
        SELECT noted.id, noted.event_id::text FROM {parked} noted WHERE {is_note}))
