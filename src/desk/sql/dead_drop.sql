-- use: desk dead_drop with drops changes
-- use: desk dead_drop_json with drops changes $json
-- use: desk dead_drop_ids with drops changes $ids
-- use: desk dead_drop_dry with drops changes $ids $json $dry_run
-- Deletes parked rows, and makes the next row of a dropped row's key due; or shows them. A change without --json
-- returns no values, so that it cannot fail because of one.
WITH {if $ids}{chosen_by_id}{else}{chosen_by_filter}{end}{if !$dry_run}, done AS MATERIALIZED (
    DELETE FROM {parked} USING chosen
    WHERE seq = chosen_seq
    RETURNING seq AS desk_place{if $json}, {row_changed_json} AS json{end}
), freed AS (
    UPDATE {parked} SET state = CASE state WHEN 'behind' THEN 'retry' ELSE state END, due = now()
    WHERE state IN ('behind', 'waiting', 'paused') AND due IS NULL AND seq IN (
        SELECT next
        FROM (
            SELECT DISTINCT {key_text} AS left_key
            FROM {parked} JOIN chosen ON seq = chosen_seq
            WHERE key IS NOT NULL
        ) gone,
        LATERAL (
            SELECT seq AS next
            FROM {parked} behind
            WHERE behind.key IS NOT NULL
              AND hashtextextended({key_text}, 0)
                  = hashtextextended(gone.left_key, 0)
              AND {key_text} = gone.left_key
              AND sent_at IS NULL AND seq NOT IN (SELECT chosen_seq FROM chosen)
            ORDER BY id, seq LIMIT 1
        ) nexts)
)
{else}, done AS MATERIALIZED (
    SELECT seq AS desk_place, {if $json}{row_changed_json} AS json{else}{listed}{end}
    FROM {parked} JOIN chosen ON seq = chosen_seq
)
{end}
SELECT refused AS desk_refused,
       CASE WHEN refused LIKE 'no %' THEN 'a row that PostgreSQL refuses stays until it can be settled' END
           AS desk_fix,
       done.*
FROM refusal LEFT JOIN done ON true ORDER BY desk_place
