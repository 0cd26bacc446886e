-- Part: the columns of a row of the outbox that is claimed, in the order of enum claim_column; of one that the server
-- cannot read, what needs no expression.
{if unread}
{id} AS id, {id} AS event_id, NULL AS topic, IF(LENGTH({key_bytes}) <= {meta_max}, {key_bytes}, NULL) AS row_key,
       NULL AS type, NULL AS payload, NULL AS payload_length, 0 AS meta_length, NULL AS headers, NULL AS created_us,
       {slice_of_row} AS slice, 0 AS due_ms
{else}
{id} AS id, {event_id} AS event_id, LEFT({topic}, 1025) AS topic,
       IF(COALESCE(LENGTH({key_bytes}), 0) <= {meta_max}, {key_bytes}, NULL) AS row_key,
       IF({meta_length} <= {meta_max}, {type}, NULL) AS type,
       IF(LENGTH({payload_bytes}) <= {payload_max}, {payload_bytes}, NULL) AS payload,
       COALESCE(LENGTH({payload_bytes}), LENGTH({payload})) AS payload_length, {meta_length} AS meta_length,
       IF({meta_length} <= {meta_max}, {headers}, NULL) AS headers,
       {created_us} AS created_us, {slice_of_row} AS slice,
       {if has_due}
       LEAST({wait_max_ms}, GREATEST(0, CEIL(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), {due}) / 1000))) AS due_ms
       {else}
       0 AS due_ms
       {end}
{end}
