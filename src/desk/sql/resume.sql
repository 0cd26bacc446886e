-- use: desk resume
-- Ends a pause, and says so.
WITH ended AS (
    DELETE FROM {control} WHERE kind = 'paused ' || {$verb}::text AND name = {$name}::text
    RETURNING 1
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM ended) THEN {$verb}::text || ' "' || {$name}::text || '" is not paused' END
           AS desk_refused,
       'outbox-relay pause lists what is paused' AS desk_fix,
       {$verb}::text || ' "' || {$name}::text || '" resumed' AS said,
       'paused ' || {$verb}::text || ' ' || {$name}::text AS pause
