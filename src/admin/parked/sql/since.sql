-- Part: the moment of --since, as a duration before now or a timestamp; NULL: any.
CASE WHEN $1::int8 IS NOT NULL THEN now() - $1::int8 * interval '1 millisecond' ELSE $2::timestamptz END
