-- Part: the notes that are due, of the locked slices if there are slices.
SELECT seq AS relay_noted, id AS relay_noted_id, identity AS relay_noted_identity, attempts AS relay_attempts,
       parked_at AS relay_noted_at, state = 'unsettled' AS relay_is_sent, {slice_of_parked} AS relay_noted_slice,
       {left_key} AS relay_noted_key
FROM {parked} head
WHERE {is_note} AND due <= statement_timestamp()
  AND {is_of_locked_slice}
