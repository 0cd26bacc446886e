-- Part of the claims of parked and of refused rows: what holds back their rows "runs" (relay_run: seq; relay_run_id;
-- relay_run_key: the key as text; relay_run_slice; relay_is_first: the first of its run), because a row leaves only
-- after all earlier rows of its key.
--
-- "earlier" has for each key the first row that still waits in the outbox and whose sink is here. A row of a sink that
-- is away holds nobody back: the runs are of other sinks. So the scan begins at the bound of the rows whose sinks are
-- here (away.h), and usually finds nothing. It reads {passed_rows} rows of a slice at most. While there are more, it is
-- not known whose the rest are (key_text is NULL).
--
-- "put_back" gives rows that must wait the latest due time, so that the others are claimed first.
earlier AS MATERIALIZED (
    SELECT relay_slice, key_text, min(id) AS id
    FROM (
        SELECT relay_run_slice AS relay_slice, max(relay_run_id) AS relay_last
        FROM runs WHERE relay_run_key IS NOT NULL GROUP BY 1
    ) ends
    JOIN ROWS FROM (
             unnest(current_setting('outbox_relay.slices')::int4[]),
             unnest(current_setting('outbox_relay.lows')::int8[]),
             unnest(current_setting('outbox_relay.highs')::int8[])
         ) AS bounds (relay_slice, relay_low, relay_high) USING (relay_slice),
         {if position}
         {progress_at},
         {end}
         LATERAL (
             SELECT {outbox_name}.{id} AS id, CASE WHEN relay_number <= {passed_rows} THEN relay_key END AS key_text
             FROM (
                 SELECT *, row_number() OVER () AS relay_number
                 FROM (
                     SELECT *
                     FROM {outbox}
                     WHERE ({slice_of_row}, {id}) >= (
                               relay_slice, {if position}greatest(relay_from, {end}CASE WHEN (
                                   SELECT (
                                       SELECT {are_running}
                                       FROM (SELECT current_setting('outbox_relay.holders')::xid8[] AS xids) holders)
                               ) THEN relay_high ELSE relay_low END{if position}){end})
                       AND ({slice_of_row}, {id}) <= (relay_slice, relay_last)
                       AND {if position}{is_unsent_at}{else}{unsent}{end} AND {is_not_noted}
                     ORDER BY {slice_of_row}, {outbox_name}.{id} LIMIT {passed_rows} + 1
                 ) {outbox_name}
             ) {outbox_name},
             LATERAL (SELECT {key} AS relay_row_key) relay_keyed,
             LATERAL (
                 SELECT {if key_is_bytes}encode(relay_row_key, 'hex'){else}relay_row_key::text{end} AS relay_key
             ) relay_texts
             WHERE CASE WHEN relay_number > {passed_rows} THEN true
                        WHEN relay_key IN (SELECT relay_run_key FROM runs) THEN
                            ($1::int8 = 0 OR coalesce($1::int8 >> ({sink}), 0) & 1 = 0) END
         ) passed
    GROUP BY 1, 2
), put_back AS (
    UPDATE {parked} SET due = statement_timestamp()
    WHERE due IS NOT NULL AND sent_at IS NULL AND seq = ANY (ARRAY(
        SELECT seq FROM {parked}
        WHERE seq = ANY (ARRAY(
            SELECT relay_run FROM runs
            WHERE relay_is_first AND {is_held}))
        FOR UPDATE SKIP LOCKED))
),
