-- use: desk parked_lacks
-- What the parked table lacks of what config/sql/shared/parked_table.sql says, in an order in which it can be added:
-- whether rows cannot be parked without it, what is wrong, the SQL that mends it while relays are working, and the SQL
-- that `init` runs by itself because it takes no time; NULL: there is none.
-- $1 text what that file says; $2 text[] the columns that a row takes along from the outbox; $3 text[] their types as
-- SQL; $4 text[] their base types there, '': any.
-- A domain and its base type count as the same. Expressions are compared without parentheses, of which PostgreSQL shows
-- others. A constraint is not tried on the rows that are there: that would take time, and they need not satisfy it.
WITH columns AS (
    SELECT s.place, s.name, taken.name IS NULL AS is_own, coalesce(taken.type, s.definition) AS definition,
           coalesce(taken.type, s.type) AS type, coalesce(taken.base, s.type::regtype::text) AS wanted,
           (SELECT {base_type} FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = {parked_text}::regclass AND a.attname = s.name AND NOT a.attisdropped) AS found
    FROM (SELECT place, m[1] AS name, m[2] AS definition, substring(m[2] FROM '^[a-z_.]+(?:\[\])?') AS type
          FROM regexp_matches($1, '^    ([a-z_]+) +(.*?),? *(?:--.*)?$', 'gn') WITH ORDINALITY AS line (m, place)) s
    LEFT JOIN unnest($2::text[], $3::text[], $4::text[]) AS taken (name, type, base) ON taken.name = s.name
), rules AS ( -- constraints, and indexes, which have no name here; those that the file says have a place
    SELECT place, name, columns, condition,
           regexp_replace(concat_ws(' where ', columns, condition),
               'OPERATOR[(]pg_catalog[.]([^)]+)[)]|::(?:pg_catalog[.])?text|::bigint|pg_catalog[.]', '\1', 'g') AS shown
    FROM (SELECT place, m[1] AS name, m[2] AS columns, m[3] AS condition
          FROM regexp_matches($1,
              '^(?:    CONSTRAINT ([a-z_]+) CHECK|CREATE INDEX ON [{]parked[}] [(](.*)[)] WHERE) (.*?)[,;]?$', 'gn')
              WITH ORDINALITY AS line (m, place)
          UNION ALL
          SELECT NULL, conname, NULL, pg_get_expr(conbin, conrelid, true)
          FROM pg_catalog.pg_constraint WHERE conrelid = {parked_text}::regclass AND contype = 'c'
          UNION ALL
          SELECT NULL, NULL, (SELECT string_agg(pg_get_indexdef(indexrelid, place, true), ', ' ORDER BY place)
                              FROM generate_series(1, indnkeyatts::int) place), pg_get_expr(indpred, indrelid, true)
          FROM pg_catalog.pg_index
          WHERE indrelid = {parked_text}::regclass AND indisvalid AND indpred IS NOT NULL) r
), missing AS (
    SELECT * FROM rules said
    WHERE place IS NOT NULL AND NOT EXISTS (
        SELECT FROM rules found
        WHERE found.place IS NULL AND found.name IS NOT DISTINCT FROM said.name
            AND translate(found.shown, '() ', '') = translate(said.shown, '() ', ''))
), lacks (kind, place, problem, fix, at_once) AS (
    SELECT 1, place, format('column %s is missing in %s%s', name, {parked_text},
               CASE WHEN is_own THEN ', which is that of an older outbox-relay: init brings it up to date' END),
           fix, CASE WHEN name <> 'seq' THEN fix END -- that of each row is written into a new copy of the table
    FROM columns, format('ALTER TABLE %s ADD COLUMN %s %s;', {parked_text}, name, definition) AS fix
    WHERE found IS NULL
    UNION ALL
    SELECT 1, place, format('column %s of %s has type %s, not %s: rows may not be parked',
               name, {parked_text}, found, wanted),
           {if numbered}
           -- Rows that are parked are earlier ones of their keys than all that are not.
           CASE WHEN name = 'id' THEN
               format('ALTER TABLE %1$s ALTER COLUMN id TYPE bigint USING seq OPERATOR(pg_catalog.-) {first_number};'
                      {if in_place}' UPDATE %2$s SET %3$s = copy_number FROM (SELECT id AS copy_number,'
                                   ' event_id::text AS copy_event FROM %1$s WHERE in_outbox) copy'
                                   ' WHERE copy_event OPERATOR(pg_catalog.=) (%4$s)::text;'{end},
                      {parked_text}, {outbox_text}, {id_text}, {event_id_literal})
           ELSE
           {end}
           format('ALTER TABLE %s ALTER COLUMN %s TYPE %s USING %s::%s;', {parked_text}, name, type, format(
               -- By way of text, because PostgreSQL has no cast between some types. That of bytea has a format.
               CASE 'bytea' WHEN wanted THEN 'pg_catalog.convert_to(%s::pg_catalog.text, ''UTF8'')'
                            WHEN found THEN 'pg_catalog.convert_from(%s, ''UTF8'')'
                            ELSE '%s::pg_catalog.text' END, name), type){if numbered} END{end}, NULL
    FROM columns
    WHERE found <> wanted AND wanted <> ''
    UNION ALL
    SELECT 2, place, format('table %s has no index by %s: each search for such rows reads all that are parked',
               {parked_text}, shown),
           format('CREATE INDEX CONCURRENTLY ON %s (%s) WHERE %s;', {parked_text}, columns, condition),
           CASE WHEN (SELECT found FROM columns WHERE name = 'seq') IS NOT NULL
                    AND pg_relation_size({parked_text}::regclass) <= 64 << 20 -- which takes about a second
                THEN format('CREATE INDEX ON %s (%s) WHERE %s;', {parked_text}, columns, condition) END
    FROM missing
    WHERE name IS NULL
    UNION ALL
    SELECT 3, place, format('constraint %s of %s is missing or differs: a row that is to be parked may be refused, or a'
               ' wrong one taken', name, {parked_text}), fix,
           CASE WHEN (SELECT pg_has_role(relowner, 'USAGE') FROM pg_catalog.pg_class
                      WHERE oid = {parked_text}::regclass)
                THEN fix END
    FROM missing, format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s, ADD CONSTRAINT %s CHECK %s NOT VALID;',
               {parked_text}, name, name, condition) AS fix
    WHERE name IS NOT NULL
)
SELECT kind = 1, problem, fix, at_once FROM lacks ORDER BY kind, place
