-- Part: what `init --feed` prints: the trigger that writes the rows of another table into the outbox too. The lock of
-- CREATE TRIGGER lasts until COMMIT, so that no row comes between the existing ones and those that the trigger sees.

-- Rows of {source} go into {outbox} too,
-- in the transaction that inserts them. An error in the function fails their INSERT.
-- It runs with the rights of the role that inserts, which needs:
--   GRANT USAGE ON SCHEMA {outbox_schema} TO ...;
--   GRANT INSERT ON {outbox} TO ...;{if feed_draws}
--   GRANT USAGE ON SEQUENCE {feed_draws} TO ...;{end}
BEGIN;

CREATE FUNCTION {feed_function}() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $feed$
BEGIN
    INSERT INTO {outbox} (
        {feed_columns}
    ) VALUES (
        {feed_values}
    );
    RETURN NULL;
END
$feed$;

CREATE TRIGGER {feed_trigger} AFTER INSERT ON {source} FOR EACH ROW
    EXECUTE FUNCTION {feed_function}();

-- To send the rows that are there already, take these dashes away. Until COMMIT nobody else inserts.
{feed_existing}

COMMIT;
