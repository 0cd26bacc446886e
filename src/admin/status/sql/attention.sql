-- use: attention attention
-- section: what needs attention
-- What needs somebody, by the figures: the level, a text, and the command or SQL that mends it. Where `hint` is not
-- NULL, config/hints.tsv may know better what mends it: hint is the place where it is told, and `why` what is told.
-- Reasons stand before what follows from them.
-- $1 jsonb the document.
WITH document AS (
    SELECT *, backlog_is_lower_bound OR parked_is_lower_bound AS more
    FROM jsonb_to_record($1::jsonb) d (
        time timestamptz, relays int8, backlog int8, backlog_is_lower_bound bool, backlog_oldest_seconds float8,
        parked int8, parked_is_lower_bound bool, dead int8, dead_is_lower_bound bool, refused int8, _held int8,
        _ageless int8, _ageless_row text, _refused_row text, _refused_why text, _self text, _unknown int8)
), processes AS (
    SELECT * FROM jsonb_to_recordset($1::jsonb -> 'processes') p (name text, answers bool, since timestamptz,
                                                                  last_sent timestamptz)
), relays AS (
    SELECT name, coalesce(away, '[]') AS away, coalesce(up, '[]') AS up
    FROM jsonb_to_recordset($1::jsonb -> '_relays') r (name text, away jsonb, up jsonb)
), pauses AS (
    SELECT * FROM jsonb_to_recordset($1::jsonb -> 'pauses') p (what text, name text, since text, "by" text, reason text)
), sinks AS (
    SELECT *, name IN (SELECT name FROM pauses WHERE what = 'sink') AS is_paused,
           (SELECT count(*) FROM relays WHERE up ? s.name) AS relays_up
    FROM jsonb_to_recordset($1::jsonb -> 'sinks') s (name text, state text, error text, rows int8)
), troubles AS (
    SELECT *, row_number() OVER (PARTITION BY error ORDER BY relay) AS place,
           count(*) OVER (PARTITION BY error) - 1 AS others
    FROM document, jsonb_to_recordset($1::jsonb -> 'troubles') t (
        relay text, lanes text, error text, fix text, since timestamptz, failures int8, of_broker bool)
    WHERE since <= time - interval '2 s' AND relay IS DISTINCT FROM _self
      AND NOT (of_broker AND EXISTS (SELECT FROM sinks WHERE state = 'away'))
), still AS (
    -- For how long no row has been sent, and the lane that has been in one step for longest.
    SELECT extract(epoch FROM time - last)::int8 AS seconds, busy.*
    FROM document, (SELECT max(greatest(last_sent, since)) AS last FROM processes WHERE answers) sent
    LEFT JOIN LATERAL (
        SELECT relay, lane, state, state_seconds
        FROM jsonb_to_recordset($1::jsonb -> 'lane_states') l (relay text, lane int4, state text, state_seconds numeric)
        WHERE state <> 'idle'
        ORDER BY state_seconds DESC NULLS LAST, relay, lane LIMIT 1
    ) busy ON state_seconds >= 5
)
-- A relay alone does not send rows that are held.
SELECT 'error' AS level, format('no relay runs, and %s to be sent', CASE
           WHEN more THEN unsent || ' or more rows are' WHEN unsent = 1 THEN '1 row is'
           ELSE unsent || ' rows are' END) AS text,
       'outbox-relay run' AS fix, NULL AS hint, NULL AS why
FROM (SELECT *, backlog + parked - _held AS unsent FROM document) document
WHERE relays = 0 AND unsent > 0
UNION ALL
SELECT CASE WHEN "default" IS NULL THEN 'error' ELSE 'warning' END,
       format('the ids, %s by now, have run ahead of the partitions, which end at %s: %s', drawn,
              coalesce("end"::text, 'none'),
              CASE WHEN "default" IS NULL THEN 'each INSERT fails' ELSE 'rows go to ' || "default" END),
       'outbox-relay check', NULL, NULL
FROM jsonb_to_record($1::jsonb -> '_partitions') p ("end" int8, "default" text, open bool, drawn int8)
WHERE NOT open AND coalesce("end", 0) <= drawn + 1
UNION ALL
SELECT 'warning', format('the ids, %s by now, come to the end of the partitions, at %s', drawn, "end"),
       'outbox-relay check', NULL, NULL
FROM jsonb_to_record($1::jsonb -> '_partitions') p ("end" int8, open bool, drawn int8, ahead int, made bool)
WHERE NOT open AND made AND "end" > drawn + 1 AND ahead < {partitions_few}
UNION ALL
-- What keeps this command from reading figures may keep a relay from answering.
SELECT 'warning', format(CASE WHEN count(*) = 1 THEN 'relay %s does not answer: it %s'
                         ELSE 'relay %s and %3$s more do not answer: they %2$s' END, min(name), CASE
           WHEN _unknown = 0 THEN 'may hang' ELSE 'may wait for the database, too' END, count(*) - 1),
       CASE WHEN _unknown = 0 THEN 'read its log; start it anew when that says nothing' END, NULL, NULL
FROM processes, document
WHERE NOT answers AND name IS DISTINCT FROM _self
GROUP BY _unknown
UNION ALL
-- What is over within a moment needs nobody. Of relays that say the same, the first is named.
SELECT 'error', format('relay %s, %s%s: no progress for %s s, %s: %s', relay, lanes,
                       ' and ' || nullif(others, 0) || ' more',
                       trunc(extract(epoch FROM time - since)),
                       failures || CASE failures WHEN 1 THEN ' failed try' ELSE ' failed tries' END, error), fix, NULL,
       NULL
FROM troubles
WHERE place = 1
UNION ALL
SELECT 'error', format('sink %s cannot be published to: its rows wait, none is lost', name), 'outbox-relay check',
       NULL, NULL
FROM sinks
WHERE state = 'away' AND NOT is_paused AND relays_up = 0
UNION ALL
-- Nothing waits for such a relay, because the others send its rows; so nothing else shows it.
SELECT 'warning', CASE
           WHEN relay IS NULL THEN format('sink %s is away for some relays, other relays can publish to it', sink)
           ELSE format('relay %s cannot publish to sink %s, other relays can', relay, sink) END,
       CASE WHEN relay IS NULL THEN 'outbox-relay check, where each relay runs'
            ELSE 'outbox-relay check, where that relay runs' END, NULL, NULL
FROM (
    SELECT sinks.name AS sink, relays.name AS relay
    FROM sinks LEFT JOIN relays ON away ? sinks.name
    WHERE state = 'away' AND NOT is_paused AND relays_up > 0
) cut_off
UNION ALL
-- A quote in the name could end the quotes in the shell into which the command is pasted.
SELECT 'warning', format('%s %s is paused since %s by role %s%s', what, name, since, "by", ': ' || reason),
       format('outbox-relay resume %s %s', what,
              CASE WHEN strpos(name, '''') > 0 THEN 'NAME' ELSE '''' || name || '''' END), NULL, NULL
FROM pauses
UNION ALL
SELECT 'error', format('sink %s may have lost events that it had acknowledged: %s%s (noticed at %s; until an audit has'
                       ' looked, what was sent since is not purged)', sink, text,
                       CASE WHEN rows > 1 THEN format(', and %s more like it', rows - 1) ELSE '' END, noticed),
       concat('outbox-relay audit --sink ', sink, ' --since ' || since), NULL, NULL
FROM jsonb_to_recordset($1::jsonb -> '_losses') l (sink text, rows int8, text text, noticed text, since text)
UNION ALL
SELECT 'error', CASE
           WHEN refused = 1 THEN format('row %s and its key wait: %s', _refused_row, _refused_why)
           ELSE format('%s rows and their keys wait, first row %s: %s', refused, _refused_row, _refused_why) END,
       NULL, 'settle', _refused_why
FROM document
WHERE refused > 0
UNION ALL
-- Rows wait, none is sent, and nothing says why. Sinks that are paused or away say why their rows wait.
SELECT 'error', CASE
           WHEN lane IS NULL THEN format('rows wait, and none has been sent for %s s; no lane says why', seconds)
           ELSE format('rows wait, and none has been sent for %s s: lane %s of relay %s has been %s for %s s',
                       seconds, lane, relay, state, round(state_seconds)) END,
       'SELECT l.pid, application_name, state, relation::regclass, mode, granted, pg_blocking_pids(l.pid) FROM pg_locks'
       ' l LEFT JOIN pg_stat_activity USING (pid) WHERE relation IS NOT NULL AND mode <> ''AccessShareLock'';',
       NULL, NULL
FROM document, still
WHERE backlog > (SELECT coalesce(sum(coalesce(rows, backlog)), 0) FROM sinks WHERE state = 'away' OR is_paused)
  AND seconds >= CASE WHEN lane IS NULL THEN 30 ELSE 5 END
  AND (lane IS NOT NULL OR backlog_oldest_seconds >= 30)
  AND jsonb_array_length($1::jsonb -> 'troubles') = 0
UNION ALL
SELECT 'error', CASE
           WHEN dead = 1 THEN '1 row is dead: it stays until you retry or drop it'
           ELSE format('%s%s rows are dead: they stay until you retry or drop them', dead,
                       CASE WHEN dead_is_lower_bound THEN ' or more' ELSE '' END) END,
       CASE WHEN first ~ '^-?[A-Za-z0-9_][A-Za-z0-9_.:-]*$' THEN
                concat('outbox-relay dead show ', CASE WHEN first LIKE '-%' THEN '-- ' END, first)
            ELSE 'outbox-relay dead list' END, NULL, NULL
FROM document, LATERAL (SELECT $1::jsonb #>> '{dead_first, 0, id}' AS first) longest
WHERE dead > 0
UNION ALL
-- Rows that wait behind a row that is tried again by itself need nobody.
SELECT 'warning', CASE
           WHEN destination = '' THEN format('%s %s behind an earlier row of the same key', w.rows, counted)
           ELSE format('%s %s for %s: %s', w.rows, counted, destination, why) END,
       CASE WHEN destination = '' THEN 'outbox-relay dead list'
            ELSE 'outbox-relay check says what is wrong with it' END,
       CASE WHEN destination <> '' THEN 'row' END, why
FROM document, jsonb_to_recordset($1::jsonb -> '_waiting') w (destination text, rows int8, why text),
     LATERAL (SELECT CASE WHEN parked_is_lower_bound THEN 'or more rows wait' WHEN w.rows = 1 THEN 'row waits'
                          ELSE 'rows wait' END AS counted) words
WHERE (destination <> '' OR dead > 0)
  AND split_part(destination, '/', 1) NOT IN (SELECT name FROM pauses WHERE what = 'sink')
UNION ALL
SELECT 'warning', format('sink %s %s', name, error), 'nats consumer add, to its stream', NULL, NULL
FROM sinks
WHERE state <> 'away' AND NOT is_paused AND error <> ''
UNION ALL
SELECT 'warning', format('created_at of %s of the oldest rows gives no age: row %s', _ageless, _ageless_row),
       'write a time from 1970 on into created_at; such rows count, but no age does', NULL, NULL
FROM document
WHERE _ageless > 0
