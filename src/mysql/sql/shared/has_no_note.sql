-- Part: that the server has not refused to settle this row of the outbox.
NOT EXISTS (SELECT 1 FROM {parked} n FORCE INDEX (id) WHERE n.id = {id} AND n.state IN ('refused', 'unsettled')
                    AND COALESCE(n.event_id = {event_id_text}, TRUE))
