-- use: lane lock_row
-- Locks one unsent row of the outbox, whose slice is locked, if there are slices. Reads no value of it but the id.
-- $1 tid.
SELECT ctid AS relay_row, {id}::text AS id
FROM {outbox}
WHERE ctid = $1::tid
  AND {slice_of_row} = ANY (coalesce(nullif(current_setting('outbox_relay.slices', true), ''), '{0}')::int4[])
  AND {unsent} AND {is_not_noted}
{if marking}FOR NO KEY UPDATE{else}FOR UPDATE{end} SKIP LOCKED
