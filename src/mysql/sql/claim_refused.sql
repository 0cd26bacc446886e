-- Claims rows of the outbox that the server has refused to settle, whose notes are due. A row that is only to be
-- settled is out of the order of its key: it was sent. Of the others only the first of a key is tried.
SELECT {claimed_columns}, n.relay_seq, n.relay_attempts, n.relay_waited_ms, n.relay_is_sent
FROM (SELECT p.seq AS relay_seq, p.id AS relay_id, p.event_id AS relay_event_id, p.attempts AS relay_attempts,
             p.state = 'unsettled' AS relay_is_sent,
             TIMESTAMPDIFF(MICROSECOND, p.parked_at, UTC_TIMESTAMP(6)) DIV 1000 AS relay_waited_ms
      FROM {parked} p FORCE INDEX (due)
      WHERE p.due <= UTC_TIMESTAMP(6) AND p.state IN ('refused', 'unsettled') AND {slice_of_parked} IN ({locked})
      {if keyed}
        AND (p.state = 'unsettled' OR {first_of_key})
      {end}
      ORDER BY p.due LIMIT {limit}) n
STRAIGHT_JOIN {outbox} o FORCE INDEX (PRIMARY) ON {id} = n.relay_id
WHERE COALESCE(n.relay_event_id = {event_id_text}, TRUE){if unsent} AND {unsent}{end}
  {if passed_topics} AND COALESCE({topic_bytes} NOT IN ({passed_topics}), TRUE){end}
ORDER BY {id}
