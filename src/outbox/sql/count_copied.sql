-- Part: raises an error unless as many rows were touched, and are out of `where`, as were found.
SELECT CASE WHEN count(*) FILTER (WHERE is_out) = (SELECT count(*) FROM found) THEN 0
            ELSE ('settled ' || count(*) FILTER (WHERE is_out) || ' rows instead of '
                  || (SELECT count(*) FROM found))::int4 END
FROM touched
