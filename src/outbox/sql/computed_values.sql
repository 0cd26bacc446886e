-- Part of claimed_rows: the values of rows whose values are computed. The claim locks all columns of the rows, and each
-- expression is computed once, here, in the scope of a row of the outbox. A payload is not computed in vain
-- (payload_text.sql says when).
(
    SELECT relay_row, relay_xmin, relay_slice, relay_is_computed{noted}, computed.*
    FROM (SELECT *, {is_computed} AS relay_is_computed FROM locked OFFSET 0) relay_locked,
         LATERAL (
             SELECT {value_of:id} AS id, {value_of:event_id} AS event_id, {value_of:topic} AS topic,
                    {value_of:key} AS key, {value_of:type} AS type, {value_of:headers} AS headers,
                    {value_of:created_at} AS created_at,
                    CASE WHEN relay_locked.relay_is_computed THEN {value_of:payload} END AS payload,
                    {more_headers} AS more_headers, {not_before} AS not_before
             FROM (SELECT {all_columns}) AS {outbox_name}
         ) computed
    OFFSET 0
) computed
