-- Part: the note of a row that the server refuses to settle.
{parked} n FORCE INDEX (id)
             WHERE n.id = {id} AND n.state IN ('refused', 'unsettled') AND COALESCE(n.event_id = {event_id_text}, TRUE)
             LIMIT 1
