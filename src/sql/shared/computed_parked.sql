-- Part of claimed_rows for parked rows where values are computed: those of a row that is kept as a whole, because they
-- could not be computed before, are computed anew, unless the table has changed since.
--
-- relay_kept_problem says why a row that is kept as a whole is not sent; NULL: it is. It has the columns that the table
-- had then. One that a message is made of and that it lacks would be NULL, one that had another type something else,
-- and one that the table has no more would be missing where whole rows are read. A column is taken for read if the
-- configuration has its name anywhere, and all are if it has the table's or a backslash. The UPDATE adds to the JSON
-- object: of two values of one name the last counts.
(
    SELECT relay_row, relay_xmin, relay_slice, relay_locked.id, attempts, parked_at, replayed_at, relay_kept_problem,
           {if has_event_id}CASE WHEN relay_is_anew THEN computed.event_id ELSE {end}relay_locked.event_id
               {if has_event_id}END{end} AS event_id,
           {if has_topic}CASE WHEN relay_is_anew THEN computed.topic ELSE {end}relay_locked.topic
               {if has_topic}END{end} AS topic,
           {if has_key}CASE WHEN relay_is_anew THEN computed.key ELSE {end}relay_locked.key
               {if has_key}END{end} AS key,
           {if has_type}CASE WHEN relay_is_anew THEN computed.type ELSE {end}relay_locked.type
               {if has_type}END{end} AS type,
           {if has_payload}CASE WHEN relay_is_anew THEN computed.payload ELSE {end}relay_locked.payload
               {if has_payload}END{end} AS payload,
           {if has_headers}CASE WHEN relay_is_anew THEN computed.headers ELSE {end}relay_locked.headers
               {if has_headers}END{end} AS headers,
           {if has_created_at}CASE WHEN relay_is_anew THEN computed.created_at ELSE {end}relay_locked.created_at
               {if has_created_at}END{end} AS created_at,
           CASE WHEN relay_is_anew THEN computed.more_headers ELSE relay_locked.more_headers END AS more_headers,
           CASE WHEN relay_is_anew THEN computed.not_before ELSE relay_locked.not_before END AS not_before
    FROM (
        SELECT *, raw IS NOT NULL AND relay_kept_problem IS NULL AS relay_is_anew
        FROM (
            SELECT *, CASE WHEN raw IS NOT NULL THEN (
                SELECT format(
                'the table has changed since this row was kept: %s: UPDATE %s SET raw = left(raw, -1) || %s || ''}'''
                    || ' WHERE seq = %s', what, {parked_text}, change, seq)
                FROM (
                    SELECT raw::json AS kept, raw::json->'column types' AS types, mapping,
                           strpos(mapping, '\') > 0 OR strpos(mapping, lower(relname)) > 0 AS reads_rows
                    FROM (SELECT lower({mapping}) AS mapping OFFSET 0) configured, pg_catalog.pg_class
                    WHERE oid = to_regclass({outbox_text})
                ) then_kept,
                LATERAL (
                    SELECT name, type, types->>name AS was, kept->name IS NOT NULL AS is_kept,
                           reads_rows OR strpos(mapping, lower(replace(name, '"', '""'))) > 0 AS is_read,
                           count(*) FILTER (WHERE type IS NULL)
                               OVER (PARTITION BY coalesce(type, types->>name)) AS gone,
                           min(name) FILTER (WHERE type IS NULL)
                               OVER (PARTITION BY coalesce(type, types->>name)) AS gone_name
                    FROM (
                        SELECT attname::text AS name, format_type(atttypid, NULL) AS type
                        FROM pg_catalog.pg_attribute
                        WHERE attrelid = to_regclass({outbox_text}) AND attnum > 0 AND NOT attisdropped
                        UNION ALL
                        SELECT DISTINCT name, NULL
                        FROM json_object_keys(kept) name
                        WHERE name <> 'column types' AND name NOT IN (
                            SELECT attname FROM pg_catalog.pg_attribute
                            WHERE attrelid = to_regclass({outbox_text}) AND attnum > 0 AND NOT attisdropped)
                    ) names
                ) compared,
                LATERAL (
                    SELECT format('%L || ', ',' || to_json(name) || ':') AS adds,
                           format('coalesce(to_json((VALUE)::%s)::text, ''null'')', type) AS given
                ) texts,
                LATERAL (
                    SELECT 1 AS place, format('it has no column %I', name) AS what,
                           adds || CASE gone WHEN 1 THEN format('(raw::json->%L)', gone_name) ELSE given END AS change
                    WHERE is_read AND NOT is_kept
                    UNION ALL
                    SELECT 2, format('its column %I had type %s, and has type %s now', name, was, type),
                           adds || given
                               || format(' || '',"column types":'' || ((raw::json->''column types'')::jsonb || %L)',
                                                   json_build_object(name, type))
                    WHERE is_read AND was <> type AND NOT EXISTS (
                        SELECT FROM pg_catalog.pg_type before, pg_catalog.pg_type now
                        WHERE before.oid = to_regtype(was) AND now.oid = to_regtype(type)
                          AND before.typcategory = now.typcategory AND now.typcategory IN ('N', 'S'))
                    UNION ALL
                    SELECT 3, format('the table has no column %I any more, and whole rows may be read', name),
                           adds || '''null'''
                    WHERE type IS NULL AND reads_rows AND kept->>name IS NOT NULL
                ) problem
                ORDER BY place, name LIMIT 1
            ) END AS relay_kept_problem
            FROM locked OFFSET 0
        ) judged
    ) relay_locked
    LEFT JOIN LATERAL (
        SELECT {event_id} AS event_id, {topic} AS topic, {key} AS key, {type} AS type, {payload} AS payload,
               {headers} AS headers, {created_at} AS created_at, {more_headers} AS more_headers,
               {not_before} AS not_before
        FROM (SELECT (json_populate_record(NULL::{outbox}, relay_locked.raw::json)).*) AS {outbox_name}
        WHERE relay_is_anew
    ) computed ON true
    OFFSET 0
) computed
