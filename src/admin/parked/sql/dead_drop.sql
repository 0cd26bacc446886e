-- use: parked dead_drop with changed picks
-- use: parked dead_drop_json with changed picks as_json
-- use: parked dead_drop_ids with changed by_id drops
-- Deletes parked rows, and makes the next row of a dropped row's key due.
-- Returns the ids that name no row (NULL: none), seq (NULL: there is no row), and the values.
-- By ids: $1 text[] the ids. By a filter: $1 int8 and $2 int8 the bounds of seq, both exclusive; NULL for any: $3 text
-- the type; $4 text the topic; $5 text a regular expression for the topic; $6 timestamptz parked since.
WITH {if by_id}{chosen_by_id}{else}{chosen_by_filter}{end}, done AS MATERIALIZED (
    DELETE FROM {parked} USING chosen
    WHERE seq = chosen_seq
    RETURNING {if as_json}{row_changed_json}{else}seq{end}
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
SELECT words, done.* FROM missing_words LEFT JOIN done ON true ORDER BY seq
