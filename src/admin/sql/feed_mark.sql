-- Part: what `init --feed` prints besides: the triggers that mark the other table's row once its event is sent, one on
-- the outbox, and one on the parked table for those that had to wait.

-- A row of {source} is marked in the transaction that settles its event,
-- also where the event was parked first. A word such as 'SENT' is a guess: write that of your application.
-- The function runs with the rights of the relay, whose role needs:
--   GRANT USAGE ON SCHEMA {source_schema} TO ...;
--   GRANT SELECT ({feed_match}), UPDATE ({feed_marked}) ON {source} TO ...;
-- An event for which it fails is sent again later, and its key waits.
BEGIN;

CREATE FUNCTION {mark_function}() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $feed$
BEGIN
    UPDATE {source} SET {feed_marks}
    WHERE {feed_match} = {if source_is_integer}('x' || right(replace(
        NEW.event_id::pg_catalog.text, '-', ''), 16))::pg_catalog.bit(64)::bigint{else}NEW.event_id{end};
    RETURN NULL;
END
$feed$;

CREATE TRIGGER {mark_trigger} AFTER UPDATE OF {sent_at} ON {outbox} FOR EACH ROW
    WHEN (OLD.{sent_at} IS NULL AND NEW.{sent_at} IS NOT NULL{if source_is_integer}
          AND pg_catalog.left(pg_catalog.replace(NEW.event_id::pg_catalog.text, '-', ''), 16)
              OPERATOR(pg_catalog.=) '{feed_space}'{end})
    EXECUTE FUNCTION {mark_function}();

CREATE TRIGGER {mark_trigger} AFTER UPDATE OF sent_at ON {parked} FOR EACH ROW
    WHEN (OLD.sent_at IS NULL AND NEW.sent_at IS NOT NULL AND NEW.event_id IS NOT NULL{if source_is_integer}
          AND pg_catalog.left(pg_catalog.replace(NEW.event_id::pg_catalog.text, '-', ''), 16)
              OPERATOR(pg_catalog.=) '{feed_space}'{end})
    EXECUTE FUNCTION {mark_function}();

COMMIT;
