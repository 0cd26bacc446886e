-- use: lane park if in_place
-- Parks rows where [outbox] park lets them stay in the outbox: they are updated, so that they are out of `where`, and
-- copied. A row that its owner has brought back within `where` is copied anew, in the place of its copy. A row that is
-- now the first of its key is tried at once, as after `dead retry`.
-- The parameters are those of park.sql.
WITH given AS (
    {given}
), taken AS MATERIALIZED (
    SELECT {moved_columns}, {more_headers} AS more_headers, {not_before} AS not_before, ctid AS relay_row,
           {identity} AS identity
    FROM {outbox}
    WHERE ctid = ANY ($1::tid[])
), replaced AS (
    {drop_copies}
), judged AS MATERIALIZED (
    SELECT {moved_names}, more_headers, not_before, relay_row, place, error, attempts, waits_for,
           CASE WHEN is_first THEN 'retry'
                WHEN state = 'retry' AND not_before > clock_timestamp() THEN 'scheduled'
                ELSE state END AS state,
           CASE WHEN is_first THEN clock_timestamp()
                WHEN waits_for IS NULL OR NOT EXISTS (
                    SELECT FROM {parked} head
                    WHERE head.waits_for = judged_row.waits_for AND head.due IS NOT NULL AND head.sent_at IS NULL
                        AND {is_head}) THEN due END AS due
    FROM (
        SELECT head.*, g.place, g.error, g.attempts, g.waits_for, g.state, g.due,
               g.state = 'behind' AND {is_head} AND {if keyed}(head.key IS NULL OR NOT EXISTS (
                   SELECT FROM taken earlier
                   WHERE {if key_is_bytes}encode(earlier.key, 'hex'){else}earlier.key::text{end}
                         = {if key_is_bytes}encode(head.key, 'hex'){else}head.key::text{end}
                     AND earlier.id < head.id)){else}true{end} AS is_first
        FROM (
            SELECT *, coalesce((SELECT min(replaced.seq) FROM replaced WHERE dropped_id = taken.id),
                               9223372036854775807) AS seq
            FROM taken
        ) head JOIN given g USING (relay_row)
    ) judged_row
), stayed AS (
    UPDATE {outbox} SET {park}
    FROM (
        SELECT relay_row, error AS relay_error, attempts AS relay_attempts, state AS relay_state FROM judged
    ) relay_given
    WHERE {outbox_name}.ctid = relay_row AND {outbox_name}.ctid = ANY ($1::tid[])
    RETURNING relay_row, ({unsent}) IS NOT TRUE AS is_out, {identity} AS identity -- as the copy finds it
), touched AS (
    INSERT INTO {parked} ({moved_names}, more_headers, not_before, identity, error, attempts, waits_for, state, due,
                          in_outbox)
    SELECT {moved_names}, more_headers, not_before, identity, error, attempts, waits_for, state, due, true
    FROM judged JOIN stayed USING (relay_row)
    WHERE is_out AND (SELECT count(*) FROM replaced) >= 0
    ORDER BY place
    RETURNING 1
)
{count_settled}
