-- Part of dead_retry: the row itself is copied again, and its values are computed anew.
,
raw = coalesce((
    SELECT {raw}
    FROM {outbox}
    WHERE head.in_outbox AND {id} = head.id AND {is_out}
      AND (head.event_id IS NULL OR coalesce({noted_event_id}, head.event_id::text) = head.event_id::text)), raw)
