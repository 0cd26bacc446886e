-- Part: how a step of `replay` went: the last id that was looked at (NULL: there are no more), and the last one chosen.
CASE WHEN (SELECT count(*) FROM chosen) >= $7::int4
     THEN (SELECT id::text FROM chosen ORDER BY chosen.id DESC LIMIT 1)
     ELSE (SELECT id::text FROM edge) END,
(SELECT id::text FROM chosen ORDER BY chosen.id DESC LIMIT 1)
