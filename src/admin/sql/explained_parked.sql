-- Part of explain_rows: the parked rows of what was found in the outbox, and those that the ids name.
SELECT ctid AS place, seq, id, event_id::text AS event_id, state, error, {is_note} AS is_of_note, identity
FROM {parked}
WHERE sent_at IS NULL AND (id IN (SELECT found.id FROM found) OR {is_explained_parked})
