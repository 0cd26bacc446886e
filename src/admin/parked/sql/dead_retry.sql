-- use: parked dead_retry with changed picks
-- use: parked dead_retry_json with changed picks as_json
-- use: parked dead_retry_ids with changed by_id
-- Makes parked rows due. A row with an earlier parked row of its key becomes due only when that row has left. Relays do
-- not claim a row that waits for a configuration which they have found not to be theirs, so it does not wait any more.
-- Returns the ids that name no row (NULL: none), seq (NULL: there is no row), and the values.
-- By ids: $1 text[] the ids. By a filter: $1 int8 and $2 int8 the bounds of seq, both exclusive; NULL for any: $3 text
-- the type; $4 text the topic; $5 text a regular expression for the topic; $6 timestamptz parked since.
WITH {if by_id}{chosen_by_id}{else}{chosen_by_filter}{end}, done AS MATERIALIZED (
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
    RETURNING {if as_json}{row_changed_json}{else}seq{end}
)
SELECT words, done.* FROM missing_words LEFT JOIN done ON true ORDER BY seq
