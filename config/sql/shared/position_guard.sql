-- Part: what keeps applications from changing where a row stands, because a position may have passed its new place.
CREATE OR REPLACE FUNCTION {progress}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'outbox-relay: in table % the xid of a row is the transaction that inserts it, and its id, key and xid do not change', TG_RELID::pg_catalog.regclass
        USING HINT = 'with on_sent = "position" the relay would not find the row: let the default give the xid; to change a row, delete it and insert it anew';
END
$$;
