-- use: check check_54_sequence if integer_ids
-- Of check: the sequence that the ids are drawn from. The horizon goes by the highest id drawn
-- (docs/internals/horizon.md).
WITH drawn AS ({id_sequence})
SELECT 'warning' AS level,
       format('the ids in column %s of %s come from no sequence of the column: the relay goes by the highest id that it'
              ' has claimed, and a row with a lower one that is committed later is sent late, within a minute',
              {id_text}, {outbox_text}) AS text, '' AS fix
WHERE NOT EXISTS (SELECT FROM drawn)
UNION ALL
SELECT 'warning', format('missing privilege: SELECT on sequence %s for role "%s": the relay goes by the highest id that'
                         ' it has claimed instead', quoted, session_user),
       format('GRANT SELECT ON SEQUENCE %s TO %s;', quoted, {role_text})
FROM drawn WHERE NOT is_readable
UNION ALL
-- A session that draws ids ahead inserts a later event of a key with a lower one.
SELECT 'warning', format('the ids in column %s of %s do not grow in the order of insertion: sequence %s has CACHE %s,'
                         ' INCREMENT %s', {id_text}, {outbox_text}, quoted, cache, step),
       format('ALTER SEQUENCE %s INCREMENT 1 CACHE 1;', quoted)
FROM drawn WHERE {if by_slice}cache > 1 OR step < 0{else}false{end}
UNION ALL
{if numbered}
SELECT 'error', format('missing privilege: USAGE on sequence %s for role "%s": the relay cannot number rows that'
                       ' lack one', quoted, session_user),
       format('GRANT USAGE ON SEQUENCE %s TO %s;', quoted, {role_text})
FROM drawn WHERE NOT has_sequence_privilege(oid, 'USAGE')
UNION ALL
-- After a restore or setval().
SELECT 'error', format('sequence %s is behind column %s of %s, in which %s is the highest number: newer rows are'
                       ' sent before older ones', quoted, {id_text}, {outbox_text}, highest),
       format('SELECT setval(''%s'', %s);', quoted, highest)
FROM drawn, (
    SELECT max({id}) AS highest
    FROM generate_series(0, {slices} - 1) relay_slices (relay_slice),
         LATERAL (SELECT {id} FROM {outbox} WHERE {slice_of_row} = relay_slice AND {id} IS NOT NULL AND {unsent}
                  ORDER BY {slice_of_row} DESC, {outbox_name}.{id} DESC LIMIT 1) newest
) numbers
WHERE has_sequence_privilege(oid, 'SELECT, USAGE') AND highest > coalesce(pg_sequence_last_value(oid), 0)
UNION ALL
{end}
SELECT 'warning', format('sequence %s has CYCLE: rows with ids that begin anew are sent before older ones', quoted),
       format('ALTER SEQUENCE %s NO CYCLE;', quoted)
FROM drawn WHERE cycles
