-- Part: the columns of a parked row that is claimed, in the order of enum claim_column.
p.id, p.event_id, p.topic, p.`key` AS row_key, p.type,
       IF(LENGTH(p.payload) <= {payload_max}, p.payload, NULL) AS payload,
       LENGTH(p.payload) AS payload_length,
       COALESCE(LENGTH(p.`key`), 0) + COALESCE(LENGTH(p.type), 0) + COALESCE(LENGTH(p.headers), 0)
           AS meta_length, p.headers,
       CAST(UNIX_TIMESTAMP(p.created_at) * 1000000 AS SIGNED) AS created_us, {slice_of_parked} AS slice,
       LEAST({wait_max_ms}, GREATEST(0, CEIL(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), p.not_before) / 1000)))
           AS due_ms,
       p.seq, p.attempts, TIMESTAMPDIFF(MICROSECOND, p.parked_at, UTC_TIMESTAMP(6)) DIV 1000 AS waited_ms, p.waits_for
