-- use: desk relays
-- section: the relays
-- without: {"relays": 0, "lanes": 0, "processes": [], "sinks": [], "lane_states": [], "troubles": [], "_relays": []}
-- without: {"rate_per_second": null, "_unsent_from": null}
-- The relays of this table by their sessions (relay_sessions.sql), with what they answer (admin/status/relays.h).
-- $1 jsonb the document, with _sessions, _answers, _asked (whether they were asked) and _sinks (names).
WITH sessions AS MATERIALIZED (
    SELECT *
    FROM jsonb_to_recordset($1::jsonb -> '_sessions') s (relay text, part text, pid int4, state text, open numeric)
), relays AS MATERIALIZED (
    SELECT relay, count(*) FILTER (WHERE part ~ '^[0-9]') AS lanes, answer
    FROM sessions LEFT JOIN (
        SELECT DISTINCT ON (relay) relay, answer
        FROM jsonb_to_recordset($1::jsonb -> '_answers') a (pid int4, answer jsonb) JOIN sessions USING (pid)
    ) answers USING (relay)
    WHERE coalesce((answer ->> 'table')::int8, 0) IN (0, to_regclass({outbox_text})::oid::int8)
    GROUP BY relay, answer
), sinks_of_relays AS MATERIALIZED (
    SELECT relay, s.*
    FROM relays, LATERAL ROWS FROM (jsonb_to_recordset(answer -> 'sinks')
        AS (name text, state text, since numeric, error text, "order" text)) WITH ORDINALITY s
), sinks AS (
    -- Of several relays one that cannot publish counts most, and of these the one for longest.
    SELECT name, min(place) AS place, bool_or(state = 'away') AS is_away, bool_or(state = 'up') AS is_up,
           min(nullif(since, 0)) FILTER (WHERE state = 'away') AS away_since,
           min(nullif(since, 0)) FILTER (WHERE state = 'up') AS up_since,
           (array_agg(error ORDER BY since) FILTER (WHERE state = 'away' AND since IS NOT NULL))[1] AS away_error,
           max(error) FILTER (WHERE state = 'up') AS up_error,
           max("order") FILTER (WHERE state <> 'unknown') AS "order"
    FROM (
        SELECT name, place - 100, 'unknown', NULL::numeric, NULL::text, NULL::text
        FROM jsonb_array_elements_text($1::jsonb -> '_sinks') WITH ORDINALITY configured (name, place)
        UNION ALL
        SELECT name, 0, 'away', NULL, NULL, NULL
        FROM sessions JOIN relays USING (relay), unnest(string_to_array(substr(part, 6), ',')) name
        WHERE part LIKE 'away:%' AND $1::jsonb -> '_sinks' ? name
        UNION ALL
        SELECT name, ordinality, state, since, error, "order" FROM sinks_of_relays
    ) told (name, place, state, since, error, "order")
    GROUP BY name
    ORDER BY 2, 1 LIMIT 16
), lanes AS (
    SELECT relay, lane, coalesce(said.state, seen.state) AS state, nullif(said.state_for, 0) AS state_for,
           CASE WHEN said.state IS NULL THEN seen.open WHEN said.open >= 0 THEN said.open END AS open
    FROM (
        SELECT relay, (l ->> 0)::int4 AS lane, l ->> 1 AS state, (l ->> 2)::numeric / 1000 AS state_for,
               (l ->> 3)::numeric / 1000 AS open
        FROM relays, jsonb_array_elements(answer -> 'lanes') l
    ) said
    FULL JOIN (
        SELECT relay, part::int4 AS lane, state, open
        FROM sessions JOIN relays USING (relay)
        WHERE part ~ '^[0-9]{1,9}$'
    ) seen USING (relay, lane)
    ORDER BY relay, lane LIMIT 256
), processes AS (
    SELECT relay, lanes, answer, r.*, CASE
        WHEN jsonb_array_length(answer #> '{config, sinks}') = jsonb_array_length(answer -> 'sinks') THEN
            (answer -> 'config') || jsonb_build_object('sinks', (
                SELECT jsonb_object_agg(sink ->> 'name', hashes)
                FROM ROWS FROM (jsonb_array_elements(answer -> 'sinks'),
                                jsonb_array_elements(answer #> '{config, sinks}')) s (sink, hashes)))
        END AS config
    FROM relays, jsonb_to_record(coalesce(answer, '{}')) r (version text, since numeric, sent numeric, sent_at numeric,
                                                            parked numeric, dead numeric, rate numeric)
    ORDER BY relay LIMIT 64
)
SELECT jsonb_build_object(
    'relays', (SELECT count(*) FROM relays),
    'lanes', (SELECT coalesce(sum(lanes), 0) FROM relays),
    'rate_per_second', (SELECT round(sum(least((answer ->> 'rate')::numeric, 1e12)), 6) FROM relays
                        WHERE answer ? 'rate'),
    '_unsent_from', (SELECT min((answer ->> 'unsent_from')::int8) FROM relays
                     WHERE (answer ->> 'unsent_from')::int8 > -9223372036854775808),
    'processes', (
        SELECT jsonb_agg(jsonb_build_object(
            'name', relay, 'lanes', lanes, 'version', version, 'config', left(md5(config::text), 8),
            'answers', CASE WHEN ($1::jsonb ->> '_asked')::bool THEN answer IS NOT NULL END,
            'since', to_char(to_timestamp(nullif(since, 0) / 1000) AT TIME ZONE 'UTC', {time_format}),
            'last_sent', to_char(to_timestamp(nullif(sent_at, 0) / 1000) AT TIME ZONE 'UTC', {time_format}),
            'sent', sent, 'parked', parked, 'dead', dead,
            'rate_per_second', CASE WHEN rate IS NOT NULL THEN round(least(rate, 1e12), 6) END) ORDER BY relay)
        FROM processes),
    '_relays', (
        SELECT jsonb_agg(jsonb_build_object(
            'name', relay, 'config', config, 'version', version, 'answers', answer IS NOT NULL,
            'away', (SELECT jsonb_agg(name) FROM sinks_of_relays s WHERE s.relay = p.relay AND state = 'away'),
            'up', (SELECT jsonb_agg(name) FROM sinks_of_relays s WHERE s.relay = p.relay AND state = 'up'))
            ORDER BY relay)
        FROM processes p),
    'sinks', (
        SELECT jsonb_agg(jsonb_build_object(
            'name', name, 'state', CASE WHEN is_away THEN 'away' WHEN is_up THEN 'up' ELSE 'unknown' END,
            'since', to_char(to_timestamp(CASE WHEN is_away THEN away_since ELSE up_since END / 1000)
                             AT TIME ZONE 'UTC', {time_format}),
            'error', nullif(CASE WHEN is_away THEN away_error ELSE up_error END, ''), 'order', "order", 'rows', NULL)
            ORDER BY place, name)
        FROM sinks),
    'lane_states', (
        SELECT jsonb_agg(jsonb_build_object(
            'relay', relay, 'lane', lane, 'state', state, 'state_seconds', state_for, 'transaction_seconds', open)
            ORDER BY relay, lane)
        FROM lanes),
    'troubles', (
        SELECT jsonb_agg(to_jsonb(t) || jsonb_build_object('relay', relay,
            'since', to_char(to_timestamp(nullif(since, 0) / 1000) AT TIME ZONE 'UTC', {time_format})) ORDER BY relay)
        FROM relays, jsonb_to_recordset(answer -> 'troubles')
            t (lanes text, error text, fix text, since numeric, failures numeric, of_broker bool)))
