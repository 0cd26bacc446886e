-- The trigger by which inserts wake idle relays.
{if makes_function}
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
{end}
{if makes_trigger}
CREATE TRIGGER {notify} AFTER INSERT ON {outbox} FOR EACH STATEMENT EXECUTE FUNCTION {schema}.{notify}();
{end}
