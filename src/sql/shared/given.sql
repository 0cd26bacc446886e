-- Part: the parameters of park.sql as rows. Of the rows that wait for one destination, or for the end of one pause, the
-- first is the probe and becomes due; the others are due once it has been sent.
SELECT relay_row, error, attempts, place, waits_for,
       CASE WHEN wait_ms = -2 THEN 'behind'
            WHEN wait_ms < 0 THEN 'dead'
            WHEN waits_for IS NULL THEN 'retry'
            WHEN {is_paused} THEN 'paused'
            ELSE 'waiting' END AS state,
       CASE WHEN wait_ms >= 0 AND (waits_for IS NULL OR row_number() OVER (PARTITION BY waits_for ORDER BY place) = 1)
            THEN clock_timestamp() + wait_ms * interval '1 millisecond' END AS due
FROM (
    SELECT relay_row, error, attempts, wait_ms, place, CASE WHEN wait_ms >= 0 THEN waits_for END AS waits_for
    FROM ROWS FROM (unnest($1::tid[]), unnest($3::text[]), unnest($4::int4[]), unnest($5::int8[]), unnest($6::text[]))
        WITH ORDINALITY AS p (relay_row, error, attempts, wait_ms, waits_for, place)
) g
