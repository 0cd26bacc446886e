-- Part: the state of a parked row, for people. A probe that is under way, and a row that is due, are next.
CASE WHEN due IS NULL THEN 'dead'
     WHEN due = 'infinity' AND waits_for IS NULL THEN 'waiting behind its key'
     WHEN {is_note} THEN 'refused by PostgreSQL'
     WHEN {is_paused} THEN 'paused'
     WHEN due = 'infinity' THEN 'waiting for its topic'
     WHEN due <= clock_timestamp() THEN 'waiting, next try now'
     WHEN due < clock_timestamp() + interval '100 s'
          THEN 'waiting, next try in ' || ceil(extract(epoch FROM due - clock_timestamp())) || ' s'
     WHEN due < clock_timestamp() + interval '100 min'
          THEN 'waiting, next try in ' || ceil(ceil(extract(epoch FROM due - clock_timestamp())) / 60) || ' min'
     ELSE 'waiting till ' || to_char(due AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') END
