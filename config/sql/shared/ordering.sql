-- Part: the trigger that keeps the order of each key; an outbox that exists is locked meanwhile.
{if !makes_outbox}
-- From here on the trigger locks the key of each row that is inserted, and then draws its {if numbered}number{else}id{end}. The lock waits for the
-- transactions that have inserted, and everybody else waits for it until COMMIT: some milliseconds. If it cannot be had
-- within five seconds, nothing is changed: run this again. A role that inserts needs USAGE on the sequence.
BEGIN;
SET LOCAL lock_timeout = '5s';
{if numbered}
{if has_id}
-- Reads all rows, and therefore before the lock: what comes later, the sequence has drawn.
SELECT pg_catalog.set_config('outbox_relay.highest', coalesce(pg_catalog.max({id}), 0)::pg_catalog.text, true) FROM {outbox};
{end}
{end}
LOCK TABLE {outbox} IN ACCESS EXCLUSIVE MODE;
SELECT pg_catalog.set_config('role', pg_catalog.pg_get_userbyid(relowner)::pg_catalog.text, true) -- owns what follows
FROM pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) {outbox_text}::pg_catalog.regclass;
{if numbered}
ALTER TABLE {outbox} ADD COLUMN IF NOT EXISTS {id} bigint; -- NULL in the rows that are there, until a relay numbers them
{end}
{end}
CREATE SEQUENCE IF NOT EXISTS {order_sequence} AS {type_of_id};
ALTER SEQUENCE {order_sequence} INCREMENT 1 CACHE 1 NO CYCLE OWNED BY {outbox}.{id};
{if !makes_outbox}
-- The next id is above all that were drawn. What the column draws by itself would be thrown away.
SELECT pg_catalog.setval({order_sequence_text}, 1 OPERATOR(pg_catalog.+) GREATEST(
{if numbered}
    {first_number}, -- the numbers of the rows that are there stay below
{if has_id}
    pg_catalog.current_setting('outbox_relay.highest')::bigint,
{end}
{if parked_exists}
    (SELECT pg_catalog.max(CASE WHEN id::pg_catalog.text OPERATOR(pg_catalog.~) '^[0-9]{1,18}$' THEN id::pg_catalog.text::bigint END) FROM {parked}),
{end}
{else}
    (SELECT pg_catalog.max({id}) FROM {outbox}), (SELECT pg_catalog.max(id) FROM {parked}),
{end}
    (SELECT pg_catalog.max(pg_catalog.pg_sequence_last_value(q.seqrelid))
     FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_sequence q ON q.seqrelid OPERATOR(pg_catalog.=) d.objid
     WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
         AND d.refobjid OPERATOR(pg_catalog.=) {outbox_text}::pg_catalog.regclass),
    (SELECT last_value FROM {order_sequence}){if drawn}, (SELECT last_value FROM {drawn}){end}), false);
ALTER TABLE {outbox} ALTER COLUMN {id} DROP IDENTITY IF EXISTS;
ALTER TABLE {outbox} ALTER COLUMN {id} DROP DEFAULT;
{if !numbered}
ALTER TABLE {outbox} ALTER COLUMN {id} SET NOT NULL;
{end}
DROP TRIGGER IF EXISTS {order_trigger} ON {outbox};
{if numbered}
DROP TRIGGER IF EXISTS {order_trigger}_kept ON {outbox};
{end}
{end}
{if numbered}
-- A number stays what it is, whatever an UPDATE sets: an ORM that maps the column may write NULL or 0.
CREATE OR REPLACE FUNCTION {order_kept}() RETURNS trigger LANGUAGE plpgsql AS $order$
BEGIN
    NEW.{id} := OLD.{id};
    RETURN NEW;
END
$order$;
CREATE TRIGGER {order_trigger}_kept BEFORE UPDATE OF {id} ON {outbox} FOR EACH ROW
    WHEN (OLD.{id} OPERATOR(pg_catalog.<>) coalesce(NEW.{id}, 0)) EXECUTE FUNCTION {order_kept}();

{end}
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
-- Triggers fire in the order of their names: this one must see the key that is stored.
CREATE TRIGGER {order_trigger} BEFORE INSERT ON {outbox} FOR EACH ROW EXECUTE FUNCTION {order}();
