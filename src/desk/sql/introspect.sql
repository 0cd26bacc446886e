-- use: desk introspect
-- The configuration that a table suggests, by the names and types of its columns, line by line: key, value and comment.
-- {likely_columns} are the columns that `check` would offer too, and {$sampled} the values that rows have.
WITH {guesses}, columns AS (
    -- "spelt" is the name as the configuration writes it; "known" are the values that its type or a CHECK of it alone
    -- lets it have; "initial" is the constant that is its default.
    SELECT attnum AS place, said AS name, {folded} AS word, quote_ident(said) AS quoted,
           CASE WHEN said ~ '[".]|^ | $' THEN '"' || replace(said, '"', '""') || '"' ELSE said END AS spelt,
           format_type(atttypid, atttypmod) AS type, typcategory AS category,
           substring(pg_get_expr(adbin, adrelid) FROM '^''([^'']*)''(::[a-z "_.]+)?$') AS initial,
           ARRAY(SELECT enumlabel::text FROM pg_catalog.pg_enum WHERE enumtypid = atttypid ORDER BY enumsortorder)
           || ARRAY(SELECT literal[1]
                    FROM pg_catalog.pg_constraint c,
                         regexp_matches(pg_get_constraintdef(c.oid), '''([^'']*)''', 'g') AS literal
                    WHERE conrelid = attrelid AND contype = 'c' AND conkey = ARRAY[attnum]) AS known,
           EXISTS (SELECT FROM pg_catalog.pg_index
                   WHERE indrelid = attrelid AND indisprimary AND indnkeyatts = 1 AND indkey[0] = attnum) AS is_primary
    FROM (SELECT *, attname::text AS said FROM pg_catalog.pg_attribute
          WHERE attrelid = {outbox_oid} AND attnum > 0 AND NOT attisdropped) attributes
    JOIN pg_catalog.pg_type t ON t.oid = atttypid
    LEFT JOIN pg_catalog.pg_attrdef ON adrelid = attrelid AND adnum = attnum
), preset AS (
    -- All of whose columns the table has. Less than five may have such names by chance, and those that are named after
    -- a column are made to be changed.
    SELECT name
    FROM (SELECT split_part(line, ': ', 1) AS name, string_to_array(split_part(line, ': ', 2), ', ') AS wanted, nth
          FROM regexp_split_to_table({$presets}::text, E'\n') WITH ORDINALITY AS l (line, nth)) presets
    WHERE wanted <@ ARRAY(SELECT name FROM columns) AND cardinality(wanted) >= 5 AND name NOT LIKE '%-column%'
    ORDER BY cardinality(wanted) DESC, length(name), nth LIMIT 1
), found AS (
    SELECT DISTINCT ON (meaning) meaning, columns.*
    FROM (VALUES {likely_columns}) likely (meaning, likely)
    JOIN columns ON name = likely OR (meaning = 'id' AND is_primary)
    ORDER BY meaning, name = likely DESC
), known_values AS (
    -- Of columns that may be a status, those that the catalog lets them have, then those of rows.
    SELECT columns.*, said, nth, {folded} AS word_of_value
    FROM columns, LATERAL (
        SELECT * FROM unnest(initial || known) WITH ORDINALITY AS k (said, nth)
        UNION ALL
        SELECT said, 1000000 + nth
        FROM jsonb_array_elements_text({$sampled}::jsonb -> name) WITH ORDINALITY AS s (said, nth)
    ) v
    WHERE category IN ('S', 'E') AND ('status', word) IN (TABLE guesses) AND said !~ '[\u0001-\u001f\u007f]'
), status AS (
    SELECT quoted, said AS unsent,
           coalesce((SELECT said FROM known_values s
                     WHERE s.place = u.place AND ('sent_value', word_of_value) IN (TABLE guesses) ORDER BY nth LIMIT 1),
                    CASE WHEN known = '{}' THEN CASE WHEN said ~ '^[a-z]' THEN 'sent' ELSE 'SENT' END END) AS sent
    FROM known_values u
    WHERE ('unsent_value', word_of_value) IN (TABLE guesses)
    ORDER BY place, nth LIMIT 1
), flag AS (
    SELECT quoted FROM columns WHERE category = 'B' AND ('flag', word) IN (TABLE guesses) ORDER BY place LIMIT 1
), marks AS (
    SELECT true AS is_status, quoted || ' = ' || quote_literal(unsent) AS unsent,
           quoted || ' = ' || quote_literal(sent) AS sent
    FROM status WHERE sent IS NOT NULL
    UNION ALL
    SELECT false, quoted || ' IS NOT TRUE', quoted || ' = true' FROM flag
    ORDER BY is_status DESC LIMIT 1
), meanings (place, meaning, otherwise, remark, categories) AS (
    -- What stands for a value that no column has, and of which types the columns are that might be meant.
    VALUES (51, 'event_id', '(' || coalesce((SELECT quoted FROM found WHERE meaning = 'id'), 'id') || '::text)',
            'consumers recognise repeats by it; candidates: ', 'US'),
           (52, 'topic', '(''outbox'')', 'a constant; candidates: ', 'SE'),
           (53, 'key', '', NULL, NULL),
           (54, 'type', '', NULL, NULL),
           (55, 'payload',
            '(to_jsonb(' || (SELECT quote_ident(relname) FROM pg_catalog.pg_class WHERE oid = {outbox_oid}) || '))',
            'the whole row; candidates: ', 'US'),
           (56, 'headers', '', NULL, NULL),
           (57, 'created_at', '', NULL, NULL)
), lines (place, key, value, comment) AS (
    SELECT l.*
    FROM preset, LATERAL (VALUES
        (1, NULL, NULL, '# The table has all columns of a preset. What the preset serves, and how the framework''s own'
                        ' sending is switched off:'),
        (2, NULL, NULL, '#   outbox-relay config --preset ' || name),
        (12, 'preset', name, NULL),
        (13, NULL, NULL, '# adopt = true   # the unsent rows that are there are meant for the relay')) l
    UNION ALL
    VALUES (10, NULL, NULL, '[outbox]'),
           (11, 'table', {$name}, NULL),
           (21, NULL, NULL, '# Sends the unsent rows that are there already, too:'),
           (22, NULL, NULL, '# adopt = true'),
           (40, NULL, NULL, ''),
           (41, NULL, NULL, '[outbox.columns]')
    UNION ALL
    SELECT l.*
    FROM marks, LATERAL (VALUES
        (23, 'where', unsent, NULL),
        (24, 'mark', sent || coalesce(', ' || (SELECT quoted FROM found WHERE meaning = 'sent_at') || ' = now()', ''),
         NULL)) l
    UNION ALL
    SELECT 25, NULL, NULL,
           '# By their names "where" has the value of unsent rows, and "mark" that of sent ones: make sure.'
    FROM marks WHERE is_status
    UNION ALL
    SELECT l.*
    FROM (VALUES
        (26, 'on_sent', 'delete', NULL),
        (27, NULL, NULL, '# No column says which rows are sent, so sent rows are deleted. Candidates: '
             || coalesce((SELECT string_agg(spelt, ', ' ORDER BY place) FROM columns
                          WHERE category IN ('B', 'D', 'E') OR ('status', word) IN (TABLE guesses)), 'none'))) l
    WHERE NOT EXISTS (SELECT FROM marks) AND NOT EXISTS (SELECT FROM found WHERE meaning = 'sent_at')
    UNION ALL
    (SELECT 28, 'due', spelt, 'a row is not sent before this time'
     FROM columns WHERE category = 'D' AND ('due', word) IN (TABLE guesses) ORDER BY place LIMIT 1)
    UNION ALL
    SELECT 29, 'order', 'none', 'the ids are no integers; for the order of a key write order = "relay_order" in'
                                ' [outbox.columns]: outbox-relay init --order-trigger'
    WHERE NOT EXISTS (SELECT FROM found WHERE meaning = 'id' AND type IN ('smallint', 'integer', 'bigint'))
    UNION ALL
    SELECT 50, NULL, NULL, '# id: no column is unique and never NULL. A trigger can feed an outbox of the relay''s own:'
                           ' outbox-relay init --feed'
    WHERE NOT EXISTS (SELECT FROM found WHERE meaning = 'id')
    UNION ALL
    SELECT coalesce(meanings.place, CASE meaning WHEN 'id' THEN 50 ELSE 58 END), meaning, spelt, type
    FROM found LEFT JOIN meanings USING (meaning)
    UNION ALL
    SELECT place, meaning, otherwise,
           remark || coalesce((SELECT string_agg(spelt, ', ' ORDER BY columns.place) FROM columns
                               WHERE strpos(categories, category::text) > 0), 'none')
    FROM meanings WHERE meaning NOT IN (SELECT meaning FROM found)
    UNION ALL
    SELECT l.*
    FROM found, LATERAL (VALUES
        (59, NULL, NULL, '# Rows are purged, audited and sent again only if nobody but the relay writes this column,'
                         ' and its comment says so:'),
        (60, NULL, NULL, '# COMMENT ON COLUMN ' || {outbox_text} || '.' || quoted || ' IS ''{only_relay_writes}'';')) l
    WHERE meaning = 'sent_at'
)
SELECT key, replace(to_json(value)::text, chr(127), '\u007f') AS value, comment
FROM lines
WHERE place BETWEEN 10 AND 11 OR (place < 20) = EXISTS (SELECT FROM preset)
ORDER BY place
