-- The inbox of a consumer. Run this once, in the database and schema in which the consumer handles events.
--
--   BEGIN;
--   SELECT inbox_is_new('0f6e6555-38b7-4b7f-8e6e-79d3b7271d6e');   -- the header "id"
--   ... if it says true: what the event means; if false, the event is a repeat ...
--   COMMIT;                                                        -- then acknowledge the message to the broker
--
-- Where several consumers share an inbox, each gives its name, because each handles every event:
-- inbox_is_new('0f6e...', 'billing').
BEGIN;

CREATE TABLE IF NOT EXISTS inbox (
    event_id text NOT NULL,
    consumer text NOT NULL DEFAULT '',
    arrived_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT inbox_pkey PRIMARY KEY (event_id, consumer)
);
CREATE INDEX IF NOT EXISTS inbox_arrived_at ON inbox (arrived_at);

-- Whether no transaction that was committed has handled this event. Another transaction that is handling it now is
-- waited for. At REPEATABLE READ and above PostgreSQL may end it with serialization_failure: try the transaction again.
CREATE OR REPLACE FUNCTION inbox_is_new(event_id text, consumer text DEFAULT '') RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO inbox AS i (event_id, consumer) VALUES (inbox_is_new.event_id, inbox_is_new.consumer)
    ON CONFLICT ON CONSTRAINT inbox_pkey DO NOTHING;
    RETURN FOUND;
END $$;

-- Deletes ids that are older, at most 10,000, and returns how many. Repeats come within minutes, and after an outage or
-- `audit --repair` later: keep ids for as long as events may be sent again ([outbox] retention).
CREATE OR REPLACE FUNCTION inbox_clean(older_than interval DEFAULT '7 days') RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    deleted bigint;
BEGIN
    DELETE FROM inbox i USING (
        SELECT event_id, consumer FROM inbox WHERE arrived_at < now() - older_than
        ORDER BY arrived_at LIMIT 10000 FOR UPDATE SKIP LOCKED) old
    WHERE (i.event_id, i.consumer) = (old.event_id, old.consumer);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$;

COMMIT;
