-- use: parked dead_list with newest_first
-- use: parked dead_list_json with newest_first as_json
-- use: parked dead_show with by_id shown
-- use: parked dead_show_json with by_id shown as_json
-- use: parked dead_retry_dry with picks
-- use: parked dead_drop_dry with by_id drops would_change as_json
-- The rows that `dead list` and `dead show` print, and that `dead retry` and `dead drop` would change.
-- Returns the ids that name no row (NULL: none), seq (NULL: there is no row), and the values.
-- By ids: $1 text[] the ids. By a filter: $1 int8 and $2 int8 the bounds of seq, both exclusive; NULL for any: $3 text
-- the type; $4 text the topic; $5 text a regular expression for the topic; $6 timestamptz parked since.
WITH {if by_id}{chosen_by_id}{else}{chosen_by_filter}{end}, done AS MATERIALIZED (
    SELECT
    {if shown}
    {if as_json}{row_shown_json}{else}{row_shown}{end}
    {else}
    {if would_change}{row_changed_json}{else}{if as_json}{row_listed_json}{else}{row_listed}{end}{end}
    {end}
    FROM {parked} JOIN chosen ON seq = chosen_seq
)
SELECT words, done.* FROM missing_words LEFT JOIN done ON true ORDER BY seq {if newest_first}DESC{else}ASC{end}
