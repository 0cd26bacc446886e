-- use: desk pause
-- Pauses a sink, a topic or a key, and says so.
WITH added AS (
    INSERT INTO {control} (kind, name, reason) VALUES ('paused ' || {$verb}::text, {$name}::text, {$reason}::text)
    ON CONFLICT DO NOTHING
    RETURNING 1
)
SELECT {$verb}::text || ' "' || {$name}::text || '" is paused'
       || CASE WHEN EXISTS (SELECT FROM added) THEN '' ELSE ' already' END AS said
