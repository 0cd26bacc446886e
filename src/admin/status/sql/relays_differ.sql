-- use: answers relays_differ
-- section: relays that differ
-- Which relays would do something else with a row: each group of them is compared with the largest one, or with _own,
-- the configuration that `check` looks at.
-- $1 jsonb the document, with _relays (relays.sql) and perhaps _own: name and config.
WITH relays AS (
    SELECT *, row_number() OVER like_it AS place, count(*) OVER (PARTITION BY config) - 1 AS others
    FROM ROWS FROM (jsonb_to_recordset($1::jsonb -> '_relays')
        AS (name text, config jsonb, version text, answers bool)) WITH ORDINALITY
        r (name, config, version, answers, number)
    WINDOW like_it AS (PARTITION BY config ORDER BY number)
), groups AS (
    SELECT number, config, others, 'relay ' || name || CASE WHEN others > 0 THEN format(' and %s like it', others)
                                                            ELSE '' END AS name
    FROM relays
    WHERE config IS NOT NULL AND place = 1
), pairs AS (
    SELECT number, own.config IS NOT NULL AS is_own, coalesce(own.config, this.config) AS config,
           CASE WHEN own.config IS NULL THEN this.name ELSE own.name END AS name,
           CASE WHEN own.config IS NULL THEN most.config ELSE this.config END AS other,
           CASE WHEN own.config IS NULL THEN most.name ELSE this.name END AS other_name
    FROM groups this, (SELECT name, config FROM groups ORDER BY others DESC, number LIMIT 1) most,
         (SELECT $1::jsonb #>> '{_own, name}' AS name, $1::jsonb #> '{_own, config}' AS config) own
), differences AS (
    SELECT number, is_own, name, other_name, string_agg(what, '; ' ORDER BY place, sink) AS what
    FROM pairs LEFT JOIN LATERAL (
        SELECT 1, '', 'routes' WHERE config -> 'routes' <> other -> 'routes'
        UNION ALL
        SELECT 2, '', 'columns, headers or on_sent of [outbox]' WHERE config -> 'outbox' <> other -> 'outbox'
        UNION ALL
        SELECT CASE WHEN its.value IS NULL THEN 4 ELSE 3 END, key, CASE
                   WHEN others.value IS NULL THEN format('sink %s, which the other has not', key)
                   WHEN its.value IS NULL THEN format('sink %s, which it has not', key)
                   ELSE concat_ws('; ',
                       CASE WHEN its.value -> 0 <> others.value -> 0 THEN 'server or stream of sink ' || key END,
                       CASE WHEN its.value -> 1 <> others.value -> 1 THEN 'settings of sink ' || key END) END
        FROM jsonb_each(config -> 'sinks') its FULL JOIN jsonb_each(other -> 'sinks') others USING (key)
        WHERE its.value IS DISTINCT FROM others.value
    ) parts (place, sink, what) ON true
    GROUP BY number, is_own, name, other_name
)
SELECT 'warning' AS level, format('%s differs from %s in: %s', name, other_name, what) AS text,
       'give all relays of this table the same configuration'
       || CASE WHEN is_own THEN ''
               ELSE ': outbox-relay check, with each of their files, says which it is like' END AS fix
FROM differences
WHERE what IS NOT NULL
UNION ALL
SELECT 'ok', other_name || ': the same configuration', NULL
FROM differences
WHERE what IS NULL AND is_own
UNION ALL
SELECT 'warning', format('relay %s does not say how it is configured: its version is %s', name, version),
       'replace it by a relay of this version'
FROM relays
WHERE config IS NULL AND answers AND ($1::jsonb ? '_own' OR EXISTS (SELECT FROM groups))
