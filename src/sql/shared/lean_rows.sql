-- Part of claim_slices: the values of the rows, with the names and in the order of fill.c, for a claim of which nothing
-- but small rows is expected. The batch ends before the first row above {inline_bytes} bytes, with a long topic, with
-- a payload that may take long to convert to text (claimed_rows.sql) or whose key is parked; a claim that is not lean
-- then takes that row. It does so with each row while more than {few_parked} rows with keys are parked.
-- OFFSET 0 keeps the planner from computing a value twice.
SELECT relay_row,
       relay_xmin,
       id,
       event_id,
       CASE WHEN whole THEN topic END AS topic,
       CASE WHEN whole THEN key END AS key,
       CASE WHEN whole THEN type END AS type,
       CASE WHEN whole THEN payload END AS payload,
       CASE WHEN whole THEN headers END AS headers,
       created_at,
       CASE WHEN NOT whole THEN int8send(-1) || int8send(0) END AS lengths,
       relay_slice,
       NULL::bool AS blocked,
       NULL::bytea[] AS more_headers,
       NULL::int8 AS due_ms
FROM (
    SELECT *, coalesce(octet_length(payload), 0)::int8 + coalesce(octet_length(topic), 0)
                  + coalesce(octet_length(key), 0) + coalesce(octet_length(type), 0)
                  + coalesce(octet_length(headers), 0) <= {inline_bytes}
              AND (octet_length(topic) > 1025) IS NOT TRUE
              {if converts_payload}AND (payload IS NOT NULL OR payload_is_null){end}
              {if keyed}AND NOT key_is_parked{end} AS whole
    FROM (
        SELECT relay_row, relay_xmin, {id_as_sent} AS id, {event_id_as_sent} AS event_id, {topic_as_sent} AS topic,
               {key_as_sent} AS key, {type_as_sent} AS type,
               {if converts_payload}
               CASE WHEN pg_column_size(payload) <= 2000
                         AND clock_timestamp() < statement_timestamp() + interval '500 ms'
                    THEN payload::text END AS payload,
               payload IS NULL AS payload_is_null,
               {else}
               {payload_as_sent} AS payload,
               {end}
               {headers_text} AS headers, {created_at_as_sent} AS created_at, relay_slice{if keyed},
               (SELECT EXISTS (SELECT FROM {parked} WHERE sent_at IS NULL AND key IS NOT NULL OFFSET {few_parked}))
               OR coalesce({key_text} IN (
                      SELECT {key_text} FROM {parked} WHERE sent_at IS NULL AND key IS NOT NULL LIMIT {few_parked}
                  ), false) AS key_is_parked{end}
        FROM (
            {slice_rows}
        ) locked
        OFFSET 0
    ) texts
    OFFSET 0
) measured
