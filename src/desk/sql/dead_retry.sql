-- use: desk dead_retry with changes
-- use: desk dead_retry_json with changes $json
-- use: desk dead_retry_ids with changes $ids
-- use: desk dead_retry_dry with changes $dry_run
-- Makes parked rows due, or shows them. A row with an earlier parked row of its key becomes due only when that row has
-- left. Relays do not claim a row that waits for a configuration which they have found not to be theirs, so it does not
-- wait any more. A change without --json returns no values, so that it cannot fail because of one.
WITH {if $ids}{chosen_by_id}{else}{chosen_by_filter}{end}, done AS MATERIALIZED (
    {if !$dry_run}
    UPDATE {parked} head
    SET state = CASE WHEN state NOT IN ('dead', 'retry', 'behind')
                          AND NOT {is_declined} THEN state
                     WHEN {is_head} THEN 'retry'
                     ELSE 'behind' END,
        due = CASE WHEN {is_note} OR {is_head} THEN now()
                   WHEN state = 'scheduled' THEN due END,
        waits_for = CASE WHEN NOT {is_declined} THEN waits_for END,
        attempts = 0{if in_place},
        raw = coalesce((
            SELECT {raw}
            FROM (SELECT head.id AS relay_id, head.identity AS relay_identity WHERE head.in_outbox) relay_copied,
                 {outbox}
            WHERE {id} = relay_id AND ({unsent}) IS NOT TRUE
              AND coalesce(relay_identity, {identity}) = {identity}), raw){end}
    FROM chosen
    WHERE seq = chosen_seq
    RETURNING seq AS desk_place{if $json}, {row_changed_json} AS json{end}
    {else}
    SELECT seq AS desk_place, {if $json}{row_changed_json} AS json{else}{listed}{end}
    FROM {parked} JOIN chosen ON seq = chosen_seq
    {end}
)
SELECT refused AS desk_refused, done.* FROM refusal LEFT JOIN done ON true ORDER BY desk_place
