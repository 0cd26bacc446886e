-- Part of claimed_rows: the values of rows whose values are computed. The claim locks all columns of the rows, and each
-- expression is computed once, here, in the scope of a row of the outbox. A payload is not computed in vain
-- (claimed_rows.sql says when).
(
    SELECT relay_row, relay_xmin, relay_slice, relay_is_computed,
           {if from_refused}relay_attempts, relay_noted_at, relay_noted, relay_is_sent, {end}computed.*
    FROM (
             SELECT *,
                    {if one_row}
                    true AS relay_is_computed
                    {else}
                    NOT (SELECT coalesce(current_setting('outbox_relay.careful', true), '') <> '')
                    AND clock_timestamp() < statement_timestamp() + interval '500 ms'
                    AND coalesce(nullif(current_setting('outbox_relay.taken', true), '')::int8, 0) <= {batch_bytes}
                        AS relay_is_computed
                    {end}
             FROM locked OFFSET 0
         ) relay_locked,
         LATERAL (
             SELECT {id} AS id, {event_id} AS event_id, {topic} AS topic, {key} AS key, {type} AS type,
                    {headers} AS headers, {created_at} AS created_at,
                    CASE WHEN relay_locked.relay_is_computed THEN {payload} END AS payload,
                    {more_headers} AS more_headers, {not_before} AS not_before
             FROM (SELECT {all_columns}) AS {outbox_name}
         ) computed
    OFFSET 0
) computed
