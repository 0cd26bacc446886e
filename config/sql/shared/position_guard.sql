-- Part: what keeps applications from changing where a row stands, because a position may have passed its new place.
CREATE OR REPLACE FUNCTION {progress}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'outbox-relay: the id, the key and the xid of a row of table % cannot be changed', TG_RELID::pg_catalog.regclass
        USING HINT = 'with on_sent = "position" the relay would not find the row: delete it, and insert it anew';
END
$$;
