-- Part: the state of a parked row, and when it is tried.
state || CASE
    WHEN due IS NULL OR state = 'paused' THEN ''
    WHEN due <= clock_timestamp() THEN ', next try now'
    WHEN due < clock_timestamp() + interval '100 s'
         THEN ', next try in ' || ceil(extract(epoch FROM due - clock_timestamp())) || ' s'
    WHEN due < clock_timestamp() + interval '100 min'
         THEN ', next try in ' || ceil(ceil(extract(epoch FROM due - clock_timestamp())) / 60) || ' min'
    ELSE ', next try at ' || to_char(due AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
END
