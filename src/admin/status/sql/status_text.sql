-- use: desk status_text
-- `status` as lines: how each is laid out (cut where the terminal ends, wrapped between words, or whole), and its text.
-- $1 jsonb the document, with _lanes (whether each lane has a line) and _terminal (whether they are read on one).
WITH document AS (
    SELECT *, CASE WHEN _terminal AND NOT _lanes AND relays > 6 THEN 5 ELSE 64 END AS shown
    FROM jsonb_to_record($1::jsonb) d (
        "table" text, time timestamptz, backlog_is_lower_bound bool, parked int8, parked_is_lower_bound bool,
        next_try_seconds numeric, scheduled int8, refused int8, dead_is_lower_bound bool, keys_locked_by text,
        relays int8, lanes int8, _terminal bool, _lanes bool)
), counts AS (
    SELECT jsonb_object_agg(key, to_char(value::numeric, {count_format})) AS of
    FROM jsonb_each_text($1::jsonb)
    WHERE jsonb_typeof($1::jsonb -> key) = 'number'
), ages AS (
    SELECT jsonb_object_agg(key, {age_in_words}) AS of
    FROM (
        SELECT key, value::numeric AS seconds
        FROM jsonb_each_text($1::jsonb)
        WHERE right(key, 8) = '_seconds' AND jsonb_typeof($1::jsonb -> key) = 'number'
    ) known
), summary AS (
    SELECT lines.*
    FROM document, counts, ages, LATERAL (VALUES
        (1, format('%s at %s', "table", to_char(time AT TIME ZONE 'UTC', 'HH24:MI:SS"Z"'))),
        (2, concat('backlog  ', coalesce('about ' || (counts.of ->> 'backlog_estimate'),
                       (counts.of ->> 'backlog') || CASE WHEN backlog_is_lower_bound THEN ' or more' ELSE '' END,
                       'unknown'),
                   ', oldest ' || (ages.of ->> 'backlog_oldest_seconds'))),
        (3, concat('parked   ', coalesce(counts.of ->> 'parked', 'unknown'),
                   CASE WHEN parked_is_lower_bound THEN ' or more' END,
                   ', oldest ' || (ages.of ->> 'parked_oldest_seconds'),
                   CASE WHEN parked = 0 THEN '' WHEN next_try_seconds = 0 THEN ', next try now'
                        ELSE ', next try in ' || (ages.of ->> 'next_try_seconds') END)),
        (4, CASE WHEN scheduled > 0 THEN
                format('scheduled  %s of them, until their time', counts.of ->> 'scheduled') END),
        (5, CASE WHEN refused > 0 THEN format('refused  %s of them, by PostgreSQL', counts.of ->> 'refused') END),
        (6, concat('dead     ', coalesce(counts.of ->> 'dead', 'unknown'),
                   CASE WHEN dead_is_lower_bound THEN ' or more' END,
                   ', oldest ' || (ages.of ->> 'dead_oldest_seconds'))),
        (7, CASE keys_locked_by WHEN 'trigger' THEN 'order    the trigger locks each key'
                                WHEN 'application' THEN 'order    the application must lock each key' END),
        (8, 'rate     ' || (counts.of ->> 'rate_per_second') || '/s')) lines (place, text)
    WHERE text IS NOT NULL
), attention AS (
    SELECT number, part, layout, lines.text
    FROM ROWS FROM (jsonb_to_recordset($1::jsonb -> 'attention') AS (text text, fix text)) WITH ORDINALITY
             a (said, fix, number), LATERAL (VALUES
        (1, 'wrapped', '- ' || said), (2, 'whole', '  fix: ' || nullif(fix, ''))) lines (part, layout, text)
    WHERE lines.text IS NOT NULL
), sinks AS (
    -- "[sink.events] kafka at HOST:PORT: " stands before what happened: both are known here.
    SELECT number, state = 'away' AS is_away, concat(
        name, ': ', CASE state WHEN 'unknown' THEN 'no relay says how it is' ELSE state END,
        ' since ' || to_char(since AT TIME ZONE 'UTC', CASE
            WHEN date_trunc('day', since, 'UTC') = date_trunc('day', time, 'UTC') THEN 'HH24:MI:SS"Z"'
            ELSE 'YYYY-MM-DD"T"HH24:MI:SS"Z"' END),
        CASE WHEN state = 'away' THEN ', ' || CASE WHEN error ~ '^\[.*?: ' THEN substr(error, strpos(error, ': ') + 2)
                                                   ELSE error END END,
        CASE WHEN rows > 0 THEN ', ' || to_char(rows, {count_format}) || CASE
            WHEN backlog_is_lower_bound THEN ' or more rows wait' WHEN rows = 1 THEN ' row waits'
            ELSE ' rows wait' END END,
        CASE WHEN state <> 'away' THEN '; the events of a key leave ' || "order" END) AS text
    FROM ROWS FROM (jsonb_to_recordset($1::jsonb -> 'sinks')
             AS (name text, state text, since timestamptz, error text, rows int8, "order" text)) WITH ORDINALITY
             s (name, state, since, error, rows, "order", number), document
    WHERE state <> 'unknown' OR rows > 0
), processes AS (
    SELECT number, name, concat('  ', name, '  ', p.lanes, CASE p.lanes WHEN 1 THEN ' lane' ELSE ' lanes' END, CASE
        WHEN answers THEN format(', up %s, %s sent, %s/s, version %s', age, to_char(sent, {count_format}),
                                 to_char(rate, {count_format}), version)
        WHEN NOT answers THEN ', does not answer' END) AS text
    FROM document, ROWS FROM (jsonb_to_recordset($1::jsonb -> 'processes') AS (
             name text, lanes int8, answers bool, version text, since timestamptz, sent int8, rate_per_second numeric))
             WITH ORDINALITY p (name, lanes, answers, version, since, sent, rate, number),
         LATERAL (SELECT {age_in_words} AS age FROM (SELECT extract(epoch FROM time - since)::numeric) s (seconds)) up
    WHERE number <= shown
), lanes AS (
    SELECT number, lane, format('    lane %s  %s%s%s', lane, coalesce(state, 'unknown'), ' for ' || state_age,
                                ', claim open for ' || claim_age) AS text
    FROM jsonb_to_recordset($1::jsonb -> 'lane_states')
             l (relay text, lane int8, state text, state_seconds numeric, transaction_seconds numeric),
         LATERAL (SELECT {age_in_words} AS state_age FROM (SELECT state_seconds) s (seconds)) state_age,
         LATERAL (SELECT {age_in_words} AS claim_age FROM (SELECT transaction_seconds) s (seconds)) claim_age,
         document, processes
    WHERE name = relay AND _lanes
)
SELECT layout, text
FROM (
    SELECT place, 0 AS number, 0 AS part, 'cut' AS layout, text FROM summary
    UNION ALL
    SELECT 10, 0, part, 'cut', text
    FROM (VALUES (1, ''), (2, 'attention')) title (part, text)
    WHERE EXISTS (SELECT FROM attention)
    UNION ALL
    SELECT 11, number, part, layout, text FROM attention
    UNION ALL
    SELECT 12, 0, 0, 'cut', '' WHERE EXISTS (SELECT FROM attention)
    UNION ALL
    SELECT 20, 0, 0, 'cut', 'why rows are parked or dead:' WHERE jsonb_array_length($1::jsonb -> 'parked_reasons') > 0
    UNION ALL
    SELECT 21, number, 0, 'cut',
           format('  %s: %s', to_char((reason ->> 'count')::int8, {count_format}), reason ->> 'reason')
    FROM jsonb_array_elements($1::jsonb -> 'parked_reasons') WITH ORDINALITY r (reason, number)
    UNION ALL
    SELECT 22, 0, 0, 'cut', 'dead for longest:' WHERE jsonb_array_length($1::jsonb -> 'dead_first') > 0
    UNION ALL
    SELECT 23, number, 0, 'cut', concat_ws(', ', '  ' || id, topic) || ': ' || reason
    FROM ROWS FROM (jsonb_to_recordset($1::jsonb -> 'dead_first') AS (id text, topic text, reason text))
             WITH ORDINALITY d (id, topic, reason, number)
    UNION ALL
    SELECT 30, number, 0, CASE WHEN is_away THEN 'wrapped' ELSE 'cut' END, text FROM sinks
    UNION ALL
    SELECT 40, 0, 0, 'cut', format('relays   %s with %s lane%s', relays, lanes, CASE lanes WHEN 1 THEN '' ELSE 's' END)
    FROM document
    UNION ALL
    SELECT 41, number, 0, 'cut', text FROM processes
    UNION ALL
    SELECT 41, number, lane, 'cut', text FROM lanes
    UNION ALL
    SELECT 42, 0, 0, 'cut', format('  %s more: status --lanes', relays - shown) FROM document WHERE relays > shown
) lines
ORDER BY place, number, part
