-- Part: the notes that are due, with slices those of the locked slices (catalog/refused.h).
SELECT seq AS relay_noted, id AS relay_noted_id, identity AS relay_noted_identity,
       attempts AS relay_attempts, parked_at AS relay_noted_at, state = 'unsettled' AS relay_is_sent,
       {slice_of_parked} AS relay_noted_slice,
       {if keyed}{key_text}{else}NULL::text{end} AS relay_noted_key
FROM {parked} head
WHERE {is_note} AND due <= statement_timestamp()
  AND {if by_slice}{slice_of_parked} = ANY (current_setting('outbox_relay.slices')::int4[]){else}true{end}
