-- Part of every claim: the values of the locked rows, in the order of enum claim_column (outbox/sql.h).
--
-- A row that changed before it was locked is returned in a version that the snapshot does not see; then everything up
-- to the current WAL position must be flushed. The age of its xmin shows whether this is possible.
--
-- A row above {inline_bytes} bytes is returned in full while the sum of such rows fits into the batch; the first one is
-- returned in any case. Of the others only the lengths are returned.
--
-- The sum is the setting outbox_relay.taken: it is written for each such row, and read for the next one, also by
-- payload_text.sql, which then leaves a payload NULL that it does not convert; payload_is_null tells such a row from a
-- tombstone.
--
-- OFFSET 0 keeps the planner from converting a payload to text twice, once for its length.
SELECT CASE WHEN age(relay_xmin) > (SELECT snapshot_age FROM wal) THEN relay_row
            WHEN set_config('outbox_relay.wal', pg_current_wal_insert_lsn()::text, true) IS NOT NULL THEN relay_row END,
       relay_xmin,
       id,
       event_id,
       CASE WHEN octet_length(topic) > 1025 THEN left(topic, 1025) ELSE topic END,
       CASE WHEN whole OR octet_length(key) <= {key_bytes_max} THEN key END,
       CASE WHEN whole THEN type END,
       CASE WHEN whole THEN payload END,
       CASE WHEN whole THEN headers END,
       created_at,
       CASE WHEN NOT whole THEN int8send(coalesce(octet_length(payload), -1)) || int8send(meta_len) END,
       relay_slice,
       blocked,
       CASE WHEN whole THEN more_headers END,
       {due_in_ms}{waited_columns}
FROM (
    SELECT *, CASE
        WHEN payload IS NULL AND NOT payload_is_null THEN false
        WHEN row_len <= {inline_bytes} THEN true
        WHEN octet_length(payload) > $2::int8 OR meta_len > {meta_bytes_max} THEN false
        ELSE set_config('outbox_relay.taken', ({taken_bytes} + row_len)::text, true)::int8
                 <= greatest(row_len, {batch_bytes})
        END AS whole
    FROM (
        SELECT *, coalesce(octet_length(payload), 0) + meta_len AS row_len
        FROM (
            SELECT *, coalesce(octet_length(key), 0)::int8 + coalesce(octet_length(type), 0)
                          + coalesce(octet_length(headers), 0) + {more_headers_len} AS meta_len
            FROM (
                SELECT relay_row, relay_xmin, {as_sent:id} AS id, {as_sent:event_id} AS event_id,
                       {as_sent:topic} AS topic, {as_sent:key} AS key, {as_sent:type} AS type,
                       {payload_as_sent} AS payload,
                       {headers_as_sent} AS headers,
                       {payload_is_null} AS payload_is_null, {as_sent:created_at} AS created_at, relay_slice,
                       {blocked} AS blocked, {more_headers_as_sent} AS more_headers,
                       {not_before_as_sent} AS not_before{waits}
                FROM {locked_values}
                OFFSET 0
            ) texts
        ) measured
    ) weighed
    OFFSET 0
) claimed
