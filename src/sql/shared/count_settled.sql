-- Part: raises an error when another number of rows than $2 was settled.
SELECT CASE WHEN count(*) = $2::int4 THEN 0
            ELSE ('settled ' || count(*) || ' rows instead of ' || $2::int4)::int4 END
FROM touched
