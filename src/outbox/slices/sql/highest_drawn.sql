-- The highest id that was drawn from the sequence of the ids. Locks the table before the sequence, as TRUNCATE ...
-- RESTART IDENTITY does. The scans of the same transaction lock the table too: if the sequence came first, they could
-- deadlock with a TRUNCATE.
SELECT {if sequence}coalesce(pg_sequence_last_value({sequence}), '-9223372036854775808'::int8){else}NULL{end}
FROM (SELECT count(*) FROM (SELECT FROM {outbox} LIMIT 0) none) locked
