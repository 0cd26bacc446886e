-- use: lane note_partitions if partitioned
-- use: desk note_partitions if partitioned
-- Notes which partitions the outbox has, while the slices are locked. One that has been detached keeps the progress of
-- that moment. When it is attached again, its rows are judged by that: it becomes the segments between its first and
-- its last id, and claims begin there. Rows of another one that is attached are judged by the progress that there is.
-- Then the number of the transaction makes the setting another one, so that all lanes notice.
-- In another cluster than that of the positions, which begins them anew (position_anew.sql), nothing is noted.
-- Notes those that are gone, and one of those that have come. Returns what is to be said, a row for each of them.
WITH positions AS MATERIALIZED (
    SELECT FROM {control}
    WHERE kind = 'setting' AND name = 'position'
      AND split_part(value, ' ', 3) = (SELECT system_identifier::text FROM pg_control_system())
), noted AS MATERIALIZED (
    SELECT substr(name, 11) AS oid, value::jsonb AS about, jsonb_typeof(value::jsonb -> 'left') IS NOT NULL AS has_left
    FROM {control} WHERE kind = 'setting' AND name ~ '^partition [0-9]+$' AND EXISTS (SELECT FROM positions)
), now AS MATERIALIZED (
    SELECT oid::text, quoted, first_id, end_id FROM {partitions} WHERE EXISTS (SELECT FROM positions)
), gone AS (
    SELECT oid, about,
           CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid::text = noted.oid) THEN
               (SELECT coalesce(jsonb_agg(jsonb_build_object('slice', relay_slice, 'ends', relay_ends,
                                                             'snapshots', relay_snapshots)), '[]')
                FROM generate_series(0, {slices} - 1) relay_slices (relay_slice), {progress_at}
                WHERE relay_number > 0) END AS kept
    FROM noted WHERE NOT has_left AND oid NOT IN (SELECT oid FROM now)
), dropped AS (
    SELECT oid FROM noted WHERE has_left AND oid NOT IN (SELECT c.oid::text FROM pg_catalog.pg_class c)
), come AS MATERIALIZED (
    SELECT oid, quoted, first_id, end_id, about -> 'left' AS kept, pg_relation_size(oid::oid) > 0 AS has_rows,
           coalesce(first_id, '-9223372036854775807') AS first, coalesce(end_id - 1, 9223372036854775807) AS last
    FROM now LEFT JOIN noted USING (oid)
    WHERE has_left IS NOT FALSE
    ORDER BY about -> 'left' IS NULL, first_id LIMIT 1
), moved AS (
    INSERT INTO {progress} (slice, top, number, low, ends, snapshots)
    SELECT relay_slice, relay_top, relay_number + 1, least(relay_from, first),
           CASE WHEN kept IS NULL THEN relay_ends ELSE pieces.ends END,
           CASE WHEN kept IS NULL THEN relay_snapshots ELSE pieces.snapshots END
    FROM come, generate_series(0, {slices} - 1) relay_slices (relay_slice), {progress_at}
    LEFT JOIN LATERAL (
        SELECT saved.ends, saved.snapshots
        FROM jsonb_to_recordset(kept) saved (slice int4, ends int8[], snapshots pg_snapshot[])
        WHERE saved.slice = relay_slice
    ) before ON true,
    LATERAL (
        SELECT array_agg(piece.last_id ORDER BY piece.last_id) AS ends,
               array_agg(piece.snapshot ORDER BY piece.last_id) AS snapshots
        FROM (
            SELECT last_id, snapshot FROM unnest(relay_ends, relay_snapshots) s (last_id, snapshot)
            WHERE last_id < first - 1 OR last_id > last
            UNION ALL
            SELECT first - 1, relay_snapshots[1 + width_bucket(first - 2, relay_ends)]
            WHERE first > '-9223372036854775807' AND first - 1 <= relay_ends[cardinality(relay_ends)]
            UNION ALL
            SELECT last_id, snapshot FROM unnest(before.ends, before.snapshots) s (last_id, snapshot)
            WHERE last_id >= first AND last_id < last
            UNION ALL -- a snapshot that shows nothing: these ids were not passed then
            SELECT last, coalesce(before.snapshots[1 + width_bucket(last - 1, before.ends)], '1:1:')
        ) piece
    ) pieces
    WHERE has_rows AND relay_number > 0 AND (kept IS NOT NULL OR first < relay_from)
    RETURNING 1
), ended AS (
    DELETE FROM {control}
    WHERE kind = 'setting' AND EXISTS (SELECT FROM positions)
      AND (name = 'position' OR name IN (SELECT 'partition ' || oid FROM gone
                                         UNION ALL SELECT 'partition ' || oid FROM come
                                         UNION ALL SELECT 'partition ' || oid FROM dropped))
    RETURNING name, value
), renewed AS (
    INSERT INTO {control} (kind, name, value)
    SELECT 'setting', name, value
    FROM (
        SELECT name, {partition_nodes} || CASE
                   WHEN EXISTS (SELECT FROM gone) OR EXISTS (SELECT FROM moved)
                       THEN substring(value FROM ' [^ ]* [^ ]* [^ ]*') || ' ' || pg_current_xact_id()
                   ELSE substr(value, strpos(value, ' ')) END AS value
        FROM ended WHERE name = 'position'
        UNION ALL
        SELECT 'partition ' || oid, (about || jsonb_build_object('left', kept, 'at', clock_timestamp()))::text
        FROM gone WHERE kept IS NOT NULL
        UNION ALL
        SELECT 'partition ' || oid, jsonb_build_object('name', quoted, 'first', first_id, 'end', end_id)::text FROM come
    ) notes
    WHERE (SELECT count(*) FROM ended) >= 0
    RETURNING 1
)
SELECT format('partition %s is no longer one of the outbox: what was not sent of it is %s', about ->> 'name',
              CASE WHEN kept IS NULL THEN 'gone' ELSE 'sent once it is attached again' END) AS said
FROM gone
UNION ALL
SELECT CASE WHEN (SELECT count(*) FROM moved) = 0 THEN ''
            WHEN kept IS NULL THEN format('partition %s has been attached below the position: its rows that were'
                                          ' committed before count as sent', quoted)
            ELSE format('partition %s is attached again: what was not sent before is sent now', quoted) END
FROM come
WHERE (SELECT count(*) FROM renewed) >= 0
