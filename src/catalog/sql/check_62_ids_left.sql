-- use: check check_62_ids_left if readable integer_ids
-- Of check: ids that come to an end, once less than a fifth is left.
WITH types (name, low, high) AS (VALUES
    ('bigint', -9223372036854775808::numeric, 9223372036854775807::numeric),
    ('integer', -2147483648, 2147483647),
    ('smallint', -32768, 32767)
), drawn AS ({id_sequence}), ends AS (
    -- The highest id that is there counts when the sequence was not used yet, may not be read, or is not known.
    SELECT t.name AS type, t.low, t.high, d.quoted, coalesce(d.cycles, false) AS cycles,
           coalesce(d.step, 1)::numeric AS step,
           coalesce(CASE WHEN has_sequence_privilege(d.oid, 'SELECT, USAGE') THEN pg_sequence_last_value(d.oid) END,
                    {if id_is_unique}(SELECT max({id}) FROM {outbox}){else}NULL::int8{end},
                    s.seqstart - s.seqincrement, 0)::numeric AS last,
           CASE WHEN d.step < 0 THEN greatest(s.seqmin, t.low) ELSE least(s.seqmax, t.high) END AS edge,
           CASE WHEN d.step < 0 THEN least(s.seqmax, 0) ELSE greatest(s.seqmin, 0) END AS origin
    FROM types t
    LEFT JOIN drawn d ON true
    LEFT JOIN pg_catalog.pg_sequence s ON s.seqrelid = d.oid
    WHERE t.name = '{id_type}'
), few AS (
    SELECT *, trunc((edge - last) / step) AS count, edge IN (low, high) AS ends_by_type
    FROM ends WHERE (edge - last) / step < (edge - origin) / step / 5
)
SELECT CASE WHEN count <= 0 AND NOT cycles THEN 'error' ELSE 'warning' END AS level,
       format('column %s (id) of %s, %s%s, has %s left: %s', {id_text}, {outbox_text}, type,
              ' with sequence ' || quoted, CASE WHEN count <= 0 THEN 'no ids' WHEN count = 1 THEN '1 id'
                                                ELSE count || ' ids' END,
              CASE WHEN cycles AND NOT ends_by_type THEN 'then they begin anew (CYCLE)'
                   WHEN count <= 0 THEN 'every INSERT fails'
                   ELSE 'then every INSERT fails' END) AS text,
       -- The whole of it: a sequence of bigint, and columns that hold its numbers.
       CASE WHEN NOT ends_by_type OR type <> 'bigint' THEN
           concat_ws(' ',
                     'ALTER SEQUENCE ' || quoted || ' AS bigint NO '
                     || CASE WHEN step > 0 THEN 'MAXVALUE;' ELSE 'MINVALUE;' END,
                     CASE WHEN type <> 'bigint' THEN
                         format('ALTER TABLE %s ALTER COLUMN %s TYPE bigint; ALTER TABLE %s ALTER COLUMN id TYPE'
                                ' bigint; -- writes the tables anew', {outbox_text}, {id_text}, {parked_text}) END)
       ELSE '' END AS fix
FROM few
