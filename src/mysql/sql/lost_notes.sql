-- Notes that are due and whose rows are not unsent any more, also where another row has the id now.
SELECT p.seq FROM {parked} p FORCE INDEX (due)
WHERE p.due <= UTC_TIMESTAMP(6) AND p.state IN ('refused', 'unsettled') AND {slice_of_parked} IN ({locked})
  AND NOT EXISTS (SELECT 1 FROM {outbox} o FORCE INDEX (PRIMARY)
                  WHERE {id} = p.id AND COALESCE(p.event_id = {event_id_text}, TRUE){if unsent} AND {unsent}{end})
LIMIT 1000
