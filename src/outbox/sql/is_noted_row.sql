-- Part: the unsent row of the outbox is the one of the note "relay_note", and no other that was given its id. A note of
-- an older version knows its row by the id alone.
{slice_of_row} = relay_noted_slice AND {id} = relay_noted_id
    AND coalesce(relay_noted_identity, {identity}) = {identity} AND {unsent}
