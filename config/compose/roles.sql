-- The roles of docker-compose.yml and the tables of its example, to be run again without harm.
SELECT format('CREATE ROLE %I LOGIN', role) FROM unnest(ARRAY['relay', 'app']) role
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = role)
\gexec
ALTER ROLE relay PASSWORD :'relay_password';
ALTER ROLE app PASSWORD :'app_password';

-- What `outbox-relay init --grant relay` prints.
GRANT USAGE ON SCHEMA "public" TO "relay";
GRANT SELECT, DELETE, UPDATE ("sent_at") ON "public"."outbox" TO "relay";
GRANT SELECT, INSERT, UPDATE, DELETE ON "public"."outbox_parked" TO "relay";
GRANT SELECT, INSERT, DELETE ON "public"."outbox_control" TO "relay";
GRANT SELECT ON SEQUENCE "public"."outbox_order_seq" TO "relay";
GRANT SELECT, UPDATE (slices) ON "public"."outbox_slice" TO "relay";

-- An application only inserts into the outbox; the order trigger draws the ids.
GRANT INSERT ON outbox TO app;
GRANT USAGE ON SEQUENCE outbox_order_seq TO app;

-- The example: orders, and the events that its consumer has received, each once.
CREATE TABLE IF NOT EXISTS orders (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    total   numeric(10, 2) NOT NULL,
    status  text NOT NULL
);
CREATE TABLE IF NOT EXISTS received (
    event_id  uuid PRIMARY KEY,
    place     bigint GENERATED ALWAYS AS IDENTITY,  -- order of arrival
    key       text,
    type      text,
    repeats   bigint NOT NULL DEFAULT 0
);
GRANT SELECT, INSERT, UPDATE ON orders, received TO app;
