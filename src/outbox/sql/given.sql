-- Part: the parameters of park.sql as rows. Of the rows that wait for one destination the first is its probe and
-- becomes due; the others have due = infinity until the destination is reached.
SELECT *, CASE
    WHEN wait_ms = -2 THEN 'infinity'
    WHEN wait_ms < 0 THEN NULL
    WHEN waits_for IS NOT NULL AND row_number() OVER (PARTITION BY waits_for ORDER BY place) > 1 THEN 'infinity'
    ELSE clock_timestamp() + wait_ms * interval '1 millisecond' END AS due
FROM ROWS FROM (unnest($1::tid[]), unnest($3::text[]), unnest($4::int4[]), unnest($5::int8[]), unnest($6::text[]))
    WITH ORDINALITY AS g (relay_row, error, attempts, wait_ms, waits_for, place)
