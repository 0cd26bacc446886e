-- The role of the relays of docker-compose.yml, to be run again without harm.
SELECT 'CREATE ROLE relay LOGIN' WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'relay')
\gexec
ALTER ROLE relay PASSWORD :'password';

-- What `outbox-relay init --grant relay` prints.
GRANT USAGE ON SCHEMA "public" TO "relay";
GRANT SELECT, DELETE, UPDATE ("sent_at") ON "public"."outbox" TO "relay";
GRANT SELECT, INSERT, UPDATE, DELETE ON "public"."outbox_parked" TO "relay";
GRANT SELECT ON SEQUENCE public.outbox_id_seq TO "relay";
GRANT SELECT, UPDATE (slices) ON "public"."outbox_slice" TO "relay";
