-- Part: a number of `seconds` as people read it.
CASE WHEN seconds < 10 THEN to_char(seconds, 'FM90.0') || ' s'
     WHEN seconds < 60 THEN trunc(seconds) || ' s'
     WHEN seconds < 3600 THEN to_char(seconds * interval '1 s', 'FMMI" min "SS" s"')
     WHEN seconds < 86400 THEN to_char(seconds * interval '1 s', 'FMHH24" h "MI" min"')
     ELSE trunc(seconds / 86400) || ' d ' || trunc(seconds / 3600) % 24 || ' h' END
