-- use: desk relay_sessions
-- The sessions of relays that may delete from the outbox, as an array: the process, the part of it (the number of a
-- lane, or "watch" or "away:SINK,..." of the session beside the lanes), the backend's pid and state, and for how many
-- seconds its transaction is open.
SELECT coalesce(jsonb_agg(jsonb_build_object(
    'relay', split_part(application_name, '/', 2), 'part', split_part(application_name, '/', 3), 'pid', pid,
    'state', state, 'open', round(extract(epoch FROM clock_timestamp() - xact_start)::numeric, 6))), '[]')
FROM pg_catalog.pg_stat_activity
WHERE datname = current_database()
  AND application_name ~ '^outbox-relay/[^/]+/([0-9]+|watch|away:[^/]*)$'
  AND has_table_privilege(usesysid, to_regclass({outbox_text}), 'DELETE')
