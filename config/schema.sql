-- The tables of outbox-relay. When outbox-relay creates the tables or prints this text, it puts a quoted name, a
-- type or a number in the place of each {fact} (docs/internals/statements.md). The printed text may be run with any
-- search_path, so every type, function and operator is schema-qualified; bigint, int and boolean are words of the grammar.

--[outbox]
CREATE TABLE {outbox} (
    {id}         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY{if marking} WITH (fillfactor = 50){end},

--[ordered_outbox]
CREATE TABLE {outbox} (
    {id}         bigint PRIMARY KEY{if marking} WITH (fillfactor = 50){end}, -- drawn by the trigger

--[outbox_columns]
    {event_id}   pg_catalog.uuid        NOT NULL DEFAULT pg_catalog.gen_random_uuid(), -- the id consumers deduplicate by
    {topic}      pg_catalog.text        NOT NULL,                 -- selects the route, and so the topic or subject
    {key}        pg_catalog.text,                                 -- rows of a key stay in order; NULL: no order
    {type}       pg_catalog.text,                                 -- header "type"
    {payload}    pg_catalog.jsonb,                                -- NULL is a tombstone
    {headers}    pg_catalog.jsonb,                                -- flat object of strings
    {created_at} pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(){if has_mark},
    {sent_at}    pg_catalog.timestamptz -- NULL: not sent yet{end}
) WITH ( -- rows become dead soon: vacuum after a fixed number of them, without pauses
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold    = 10000,
    autovacuum_vacuum_cost_delay   = 0
);
COMMENT ON TABLE {outbox} IS 'outbox-relay: created by init';

--[begin]
BEGIN; -- if CREATE TABLE fails because the table exists, it must not get the comment either

--[commit]
COMMIT;

--[index]
{if sets_path}SET search_path = '';{if has_escapes} SET standard_conforming_strings = on;{end}
{end}CREATE INDEX {if concurrently}CONCURRENTLY {end}{claim_index} ON {outbox} ({id}){if unsent} WHERE {unsent}{end};

--[slice_index]
{if sets_path}SET search_path = '';{if has_escapes} SET standard_conforming_strings = on;{end}
{end}CREATE INDEX {if concurrently}CONCURRENTLY {end}{claim_index} ON {outbox} ({slice_in_full}, {id}){if unsent} WHERE {unsent}{end};

--[slice]
CREATE TABLE {slice_table} (
    slice  int PRIMARY KEY,
    slices int NOT NULL     -- the number of slices, the same in each row
);
INSERT INTO {slice_table} SELECT slice, {slices} FROM pg_catalog.generate_series(0, {last_slice}) slice;

--[slices]
BEGIN;
LOCK TABLE {slice_table} IN ACCESS EXCLUSIVE MODE;
DELETE FROM {slice_table};
INSERT INTO {slice_table} SELECT slice, {slices} FROM pg_catalog.generate_series(0, {last_slice}) slice;
COMMIT;

--[parked]
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
    state      pg_catalog.text NOT NULL CONSTRAINT state_is_known CHECK (state OPERATOR(pg_catalog.=)
                   ANY (ARRAY['retry', 'scheduled', 'behind', 'waiting', 'paused', 'refused', 'unsettled', 'dead', 'sent'])),
    attempts   int         NOT NULL DEFAULT 0,
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

--[control]
CREATE TABLE {control} (
    kind   pg_catalog.text NOT NULL CHECK (kind OPERATOR(pg_catalog.=)
               ANY (ARRAY['setting', 'paused sink', 'paused topic', 'paused key'])),
    name   pg_catalog.text NOT NULL CHECK (name OPERATOR(pg_catalog.<>) ''),
    value  pg_catalog.text,
    reason pg_catalog.text,
    set_by pg_catalog.text NOT NULL DEFAULT current_user,
    set_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(),
    PRIMARY KEY (kind, name),
    CHECK ((kind OPERATOR(pg_catalog.=) 'setting') OPERATOR(pg_catalog.=) (value IS NOT NULL)),
    CHECK (value IS NULL OR reason IS NULL),                               -- only a pause has a reason
    CHECK (pg_catalog.strpos(name, pg_catalog.chr(10)) OPERATOR(pg_catalog.=) 0) -- relays read a pause a line
);
COMMENT ON COLUMN {control}.kind IS 'what is paused; or setting, in which all relays of the outbox agree';
COMMENT ON COLUMN {control}.name IS 'of the sink, the pattern of the topics, the key; or of the setting';
COMMENT ON COLUMN {control}.value IS 'of the setting; NULL for a pause';
COMMENT ON COLUMN {control}.reason IS 'of the pause; NULL: none was given';
COMMENT ON COLUMN {control}.set_by IS 'the role that paused, or whose relay wrote the setting';
COMMENT ON COLUMN {control}.set_at IS 'since when it is paused, or set';

--[schema_number]
COMMENT ON TABLE {control} IS 'outbox-relay: schema {schema_number}; what is paused, and what all relays of the outbox agree on';

--[parked_key]
CREATE INDEX ON {parked} ({if key_is_bytes}pg_catalog.hashtextextended(pg_catalog.encode(key, 'hex'), 0), id{else}pg_catalog.hashtextextended(key::pg_catalog.text, 0), id{end}) WHERE sent_at IS NULL AND key IS NOT NULL;

--[notify]
-- An insert notifies only while an idle relay holds this advisory lock in exclusive mode. The function runs as the
-- role that inserts. Every name is qualified and no operator is used, so search_path does not matter; a SET clause
-- would cost each insert more than everything else here.
CREATE OR REPLACE FUNCTION {schema}.{notify}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT pg_catalog.pg_try_advisory_xact_lock_shared(7246114, TG_RELID::int) THEN
        PERFORM pg_catalog.pg_notify(pg_catalog.concat('outbox_relay_', TG_RELID), '');
    END IF;
    RETURN NULL;
END
$$;

--[notify_trigger]
CREATE TRIGGER {notify} AFTER INSERT ON {outbox} FOR EACH STATEMENT EXECUTE FUNCTION {schema}.{notify}();

--[order_lock]
-- From here on the trigger locks the key of each row that is inserted, and then draws its id. The lock waits for the
-- transactions that have inserted, and everybody else waits for it until COMMIT: some milliseconds. If it cannot be had
-- within five seconds, nothing is changed: run this again. A role that inserts needs USAGE on the sequence.
BEGIN;
SET LOCAL lock_timeout = '5s';
LOCK TABLE {outbox} IN ACCESS EXCLUSIVE MODE;
SELECT pg_catalog.set_config('role', pg_catalog.pg_get_userbyid(relowner)::pg_catalog.text, true) -- owns what follows
FROM pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) {outbox_text}::pg_catalog.regclass;

--[order_sequence]
CREATE SEQUENCE IF NOT EXISTS {order_sequence} AS {type_of_id};
ALTER SEQUENCE {order_sequence} INCREMENT 1 CACHE 1 NO CYCLE OWNED BY {outbox}.{id};

--[order_start]
-- The next id is above all that were drawn. What the column draws by itself would be thrown away.
SELECT pg_catalog.setval({order_sequence_text}, 1 OPERATOR(pg_catalog.+) GREATEST(
    (SELECT pg_catalog.max({id}) FROM {outbox}), (SELECT pg_catalog.max(id) FROM {parked}),
    (SELECT pg_catalog.max(pg_catalog.pg_sequence_last_value(q.seqrelid))
     FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_sequence q ON q.seqrelid OPERATOR(pg_catalog.=) d.objid
     WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
         AND d.refobjid OPERATOR(pg_catalog.=) {outbox_text}::pg_catalog.regclass),
    (SELECT last_value FROM {order_sequence}){if drawn}, (SELECT last_value FROM {drawn}){end}), false);
ALTER TABLE {outbox} ALTER COLUMN {id} DROP IDENTITY IF EXISTS;
ALTER TABLE {outbox} ALTER COLUMN {id} DROP DEFAULT;
ALTER TABLE {outbox} ALTER COLUMN {id} SET NOT NULL;
DROP TRIGGER IF EXISTS {order_trigger} ON {outbox};

--[order_functions]
-- The bucket of a key. A transaction that inserts many keys deadlocks with others like it, unless each inserts in the
-- order of the buckets, or first takes the gate.
CREATE OR REPLACE FUNCTION {order_bucket}({type_of_key}) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $order$
    SELECT pg_catalog.hashtext({if key_is_bytes}pg_catalog.encode($1, 'hex'){else}($1)::pg_catalog.text{end}) OPERATOR(pg_catalog.&) {last_bucket}
$order$;

-- Waits for the transactions that have inserted, and keeps all others from inserting until this one ends.
CREATE OR REPLACE FUNCTION {order_gate}() RETURNS void LANGUAGE sql AS $order$
    SELECT pg_catalog.pg_advisory_xact_lock({outbox_text}::pg_catalog.regclass::pg_catalog.oid::int, {gate_lock})
$order$;

-- The first key of the advisory locks is the table's oid. The function runs as the role that inserts. All names are
-- qualified, and a SET clause, which costs each row, stands only where the configuration has an expression for the key.
-- The transaction gets its number before it waits, because the relay's horizon can pass those that have one. A row
-- without a key locks none, since the functions are strict. PERFORM would run a query for each lock; := does not.
CREATE OR REPLACE FUNCTION {order}() RETURNS trigger LANGUAGE plpgsql{if key_is_computed} SET search_path = ''{if key_has_escapes} SET standard_conforming_strings = on{end}{end} AS $order$
#variable_conflict use_column
DECLARE
    relay_bucket CONSTANT int := pg_catalog.hashtext({if key_is_bytes}pg_catalog.encode({key_of_new}, 'hex'){else}({key_of_new})::pg_catalog.text{end}) OPERATOR(pg_catalog.&) {last_bucket};
    relay_done boolean;
BEGIN
    relay_done := pg_catalog.pg_current_xact_id() IS NULL;
    relay_done := pg_catalog.pg_advisory_xact_lock_shared(TG_RELID::int, {gate_lock}) IS NULL;
    relay_done := pg_catalog.pg_advisory_xact_lock(TG_RELID::int, {bucket_lock} OPERATOR(pg_catalog.+) relay_bucket) IS NULL;
    NEW.{id} := pg_catalog.nextval({order_sequence_text});
    RETURN NEW;
END
$order$;

--[order_trigger]
-- Triggers fire in the order of their names: this one must see the key that is stored.
CREATE TRIGGER {order_trigger} BEFORE INSERT ON {outbox} FOR EACH ROW EXECUTE FUNCTION {order}();

--[grant]
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT SELECT,{if deletes} DELETE,{end} UPDATE{if locks_column} ({lock_column}){end} ON {outbox} TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {parked} TO {role};
GRANT SELECT, INSERT, DELETE ON {control} TO {role};

--[grant_slice]
GRANT SELECT, UPDATE (slices) ON {slice_table} TO {role};

--[grant_sequence]
GRANT SELECT ON SEQUENCE {sequence} TO {role};

--[grant_temporary]
GRANT TEMPORARY ON DATABASE {database} TO {role};

--[grant_identity]
-- Only a superuser can grant this. The relay identifies the cluster by it; here PUBLIC may not execute it.
GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO {role};
