-- Part of dead_retry: the row itself is copied again, and its values are computed anew.
,
raw = coalesce((
    SELECT {raw}
    FROM (SELECT head.id AS relay_id, head.identity AS relay_identity WHERE head.in_outbox) relay_copied, {outbox}
    WHERE {id} = relay_id AND {is_out} AND coalesce(relay_identity, {identity}) = {identity}), raw)
