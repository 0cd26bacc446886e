-- use: desk replay_begin if keeps_sent has_sent_at
-- The moment of --since, and that of this command: rows sent later are not replayed; and whether all ids are integers,
-- 1 or NULL, so that the index on an integer id can be used.
SELECT CASE WHEN {$since_ms}::int8 IS NOT NULL THEN now() - {$since_ms}::int8 * interval '1 millisecond'
            ELSE {$since}::timestamptz END AS since,
       now() AS until,
       {if integer_ids}
       (SELECT CASE WHEN bool_and(relay_word ~ '^-?[0-9]{1,18}$') THEN 1 END
        FROM unnest({$ids}::text[]) AS w (relay_word)) AS numbers
       {else}
       NULL AS numbers
       {end}
