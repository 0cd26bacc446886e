-- use: desk dead_drop with drops changes
-- use: desk dead_drop_json with drops changes $json
-- use: desk dead_drop_ids with drops changes $ids
-- use: desk dead_drop_dry with drops changes $ids $json $dry_run
-- Deletes parked rows, and makes the next row of a dropped row's key due; or shows them. A change without --json
-- returns no values, so that it cannot fail because of one. "chosen" has the rows, which are locked; "refusal" says why
-- nothing is done.
WITH {if $ids}{chosen_by_id}{else}{chosen_by_filter}{end}{if !$dry_run}, done AS MATERIALIZED (
    DELETE FROM {parked} USING chosen
    WHERE seq = chosen_seq
    RETURNING seq AS desk_place{if $json}, {row_changed_json} AS json{end}
), touched AS (
    SELECT seq, CASE WHEN key IS NOT NULL THEN {key_text} END AS left_key
    FROM {parked} JOIN chosen ON seq = chosen_seq
), freed AS (
    {free_next}
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
