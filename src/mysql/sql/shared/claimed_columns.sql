-- Part: the columns of a row of the outbox that is claimed, in the order of enum claim_column.
{id} AS id, {event_id} AS event_id, LEFT({topic}, 1025) AS topic,
       IF(COALESCE(LENGTH({key_bytes}), 0) <= {meta_max}, {key_bytes}, NULL) AS row_key,
       IF({meta_length} <= {meta_max}, {type}, NULL) AS type,
       IF(LENGTH({payload_bytes}) <= {payload_max}, {payload_bytes}, NULL) AS payload,
       LENGTH({payload_bytes}) AS payload_length, {meta_length} AS meta_length,
       IF({meta_length} <= {meta_max}, {headers}, NULL) AS headers,
       {created_us} AS created_us, {slice_of_row} AS slice,
       {if has_due}
       GREATEST(0, CEIL((UNIX_TIMESTAMP({due}) - UNIX_TIMESTAMP(CURRENT_TIMESTAMP(6))) * 1000)) AS due_ms
       {else}
       0 AS due_ms
       {end}
