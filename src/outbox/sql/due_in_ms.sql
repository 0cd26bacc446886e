-- Part of claimed_rows: how long the row has to wait until its time; NULL: it has come. An infinite time is a century.
CASE WHEN not_before > clock_timestamp() THEN
    CASE WHEN isfinite(not_before)
         THEN ceil(least(extract(epoch FROM not_before - clock_timestamp()), 3155760000) * 1000)::int8
         ELSE 3155760000000 END END
