-- Part of dead_retry: the row itself is copied again, and its values are computed anew.
,
raw = coalesce((
    SELECT {raw}
    FROM (SELECT head.id AS relay_id, head.event_id::text AS relay_event WHERE head.in_outbox) relay_copied, {outbox}
    WHERE {id} = relay_id AND {is_out}
      AND (relay_event IS NULL OR coalesce({noted_event_id}, relay_event) = relay_event)), raw)
