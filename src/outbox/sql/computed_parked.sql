-- Part of claimed_rows for parked rows where values are computed: those of a row that is kept as a whole, because they
-- could not be computed before, are computed anew, unless the table has changed since.
(
    SELECT relay_row, relay_xmin, relay_slice, relay_locked.id, attempts, parked_at, replayed_at, relay_kept_problem,
           {anew:event_id} AS event_id,
           {anew:topic} AS topic,
           {anew:key} AS key,
           {anew:type} AS type,
           {anew:payload} AS payload,
           {anew:headers} AS headers,
           {anew:created_at} AS created_at,
           CASE WHEN relay_is_anew THEN computed.more_headers ELSE relay_locked.more_headers END AS more_headers,
           CASE WHEN relay_is_anew THEN computed.not_before ELSE relay_locked.not_before END AS not_before
    FROM (
        SELECT *, raw IS NOT NULL AND relay_kept_problem IS NULL AS relay_is_anew
        FROM (SELECT *, {kept_problem} AS relay_kept_problem FROM locked OFFSET 0) judged
    ) relay_locked
    LEFT JOIN LATERAL (
        SELECT {value_of:event_id} AS event_id, {value_of:topic} AS topic, {value_of:key} AS key,
               {value_of:type} AS type,
               {value_of:payload} AS payload, {value_of:headers} AS headers, {value_of:created_at} AS created_at,
               {more_headers} AS more_headers, {not_before} AS not_before
        FROM (
            SELECT (json_populate_record(NULL::{outbox}, relay_locked.raw::json)).*
        ) AS {outbox_name}
        WHERE relay_is_anew
    ) computed ON true
    OFFSET 0
) computed
