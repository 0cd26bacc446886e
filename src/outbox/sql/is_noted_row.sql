-- Part: the unsent row of the outbox is the one of the note "relay_note". The event id tells another row
-- apart that was given the same id after a TRUNCATE.
{slice_of_row} = relay_noted_slice AND {id} = relay_noted_id
    AND {noted_event_id} IS NOT DISTINCT FROM relay_noted_event_id AND {unsent}
