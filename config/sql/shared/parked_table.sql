-- Part: the parked table. Each column, constraint and index has a line of its own, by which parked_lacks.sql finds what
-- an existing table lacks.
CREATE TABLE {parked} (
    seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         {type_of_id},
    event_id   {type_of_event_id},
    topic      {type_of_topic},
    key        {type_of_key},
    type       {type_of_type},
    payload    {type_of_payload},
    headers    {type_of_headers},
    created_at {type_of_created_at},
    state      pg_catalog.text NOT NULL,
    attempts   int NOT NULL DEFAULT 0,
    due        pg_catalog.timestamptz,             -- when the row is tried next; NULL: not by time
    waits_for  pg_catalog.text,                    -- the destination or the pause; of such rows one is due, the probe
    error      pg_catalog.text,                    -- why the row is here
    parked_at  pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(),
    sent_at    pg_catalog.timestamptz,             -- when it was sent after all; kept until the retention ends
    replayed_at pg_catalog.timestamptz,            -- when `replay` made this copy of a sent row; NULL: it is none
    more_headers pg_catalog.bytea[],               -- of [outbox.headers]: names and values in turn
    not_before pg_catalog.timestamptz,             -- by [outbox] due; NULL: no such time
    raw        pg_catalog.text,                    -- the whole row, when its values cannot be computed
    in_outbox  boolean,                            -- by [outbox] park this is the copy of a row that is still there
    identity   pg_catalog.text,                    -- what the row is known by besides its id, which another may be given
    CONSTRAINT state_is_known CHECK (state OPERATOR(pg_catalog.=) ANY (ARRAY['retry', 'scheduled', 'behind', 'waiting', 'paused', 'refused', 'unsettled', 'dead', 'sent'])),
    CONSTRAINT sent_at_is_of_sent CHECK ((state OPERATOR(pg_catalog.=) 'sent') OPERATOR(pg_catalog.=) (sent_at IS NOT NULL)),
    CONSTRAINT due_is_known CHECK (due IS NOT NULL OR state OPERATOR(pg_catalog.<>) ALL (ARRAY['retry', 'scheduled', 'refused', 'unsettled'])),
    CONSTRAINT due_is_of_tried CHECK (due IS NULL OR state OPERATOR(pg_catalog.<>) ALL (ARRAY['behind', 'dead', 'sent'])),
    CONSTRAINT waits_for_is_known CHECK (waits_for IS NOT NULL OR state OPERATOR(pg_catalog.<>) ALL (ARRAY['waiting', 'paused'])),
    CONSTRAINT waits_for_is_of_waiting CHECK (waits_for IS NULL OR state OPERATOR(pg_catalog.=) ANY (ARRAY['waiting', 'paused', 'sent']))
);
COMMENT ON TABLE {parked} IS 'outbox-relay: schema {schema_number}'; -- where relays of schema 1 look for the number
COMMENT ON COLUMN {parked}.state IS 'retry, scheduled, behind, waiting, paused, refused, unsettled, dead or sent: docs/failed-rows.md';
CREATE INDEX ON {parked} (due) WHERE sent_at IS NULL AND state OPERATOR(pg_catalog.<>) 'dead';
CREATE INDEX ON {parked} (waits_for, due, seq) WHERE waits_for IS NOT NULL;
CREATE INDEX ON {parked} (sent_at) WHERE sent_at IS NOT NULL;
CREATE INDEX ON {parked} (seq) WHERE state OPERATOR(pg_catalog.=) 'dead';
CREATE INDEX ON {parked} (state, due) WHERE state OPERATOR(pg_catalog.=) ANY (ARRAY['refused', 'unsettled']);
CREATE INDEX ON {parked} (id) WHERE in_outbox IS TRUE;
{if key_is_indexed}
{if key_is_bytes}
CREATE INDEX ON {parked} (pg_catalog.hashtextextended(pg_catalog.encode(key, 'hex'), 0), id) WHERE sent_at IS NULL AND key IS NOT NULL;
{else}
CREATE INDEX ON {parked} (pg_catalog.hashtextextended(key::pg_catalog.text, 0), id) WHERE sent_at IS NULL AND key IS NOT NULL;
{end}
{end}
