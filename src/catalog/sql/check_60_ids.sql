-- use: check check_60_ids if readable has_id !id_is_not_null
-- use: health status_ids if has_id !id_is_not_null
-- section: rows without an id
-- Of check, and of status: unsent rows without an id, which no claim finds. SET NOT NULL fails as long as they are
-- there. A relay gives a number to rows that lack one.
{if numbered}
SELECT 'warning' AS level,
       format('unsent rows of %s without a number in column %s: %s; ',
              {outbox_text}, {id_text}, CASE count WHEN 100000 THEN '100000 or more' ELSE count::text END)
       || CASE WHEN noted THEN 'a relay numbers them, later than those that have one'
               ELSE 'they are of before the switch, and nothing of their slices is sent until a relay has numbered them'
          END || '; its log names a row that PostgreSQL refuses to change' AS text,
       CASE WHEN noted THEN 'outbox-relay check, which says why the order trigger did not draw it'
            ELSE 'outbox-relay run' END AS fix
{else}
SELECT 'error' AS level,
       format(CASE count WHEN 1 THEN '%s row of %s has no id (column %s is NULL) and is never sent'
                         WHEN 100000 THEN '%s or more rows of %s have no id (column %s is NULL) and are never sent'
                         ELSE '%s rows of %s have no id (column %s is NULL) and are never sent' END,
              count, {outbox_text}, {id_text}) AS text,
       format({if id_has_default}'UPDATE %1$s SET %2$s = DEFAULT WHERE %2$s IS NULL; '
              {else}'UPDATE these rows to ids above all others, then: '
              {end}'ALTER TABLE %1$s ALTER COLUMN %2$s SET NOT NULL;', {outbox_text}, {id_text}) AS fix
{end}
FROM (
    SELECT count(*)
    FROM (
        {if numbered}
        SELECT
        FROM (SELECT generate_series(0, {slices} - 1) UNION ALL SELECT NULL) relay_slices (relay_slice),
             LATERAL (SELECT FROM {outbox} WHERE {slice_of_row} = relay_slice AND {id} IS NULL AND {unsent}
                      UNION ALL
                      SELECT FROM {outbox} WHERE relay_slice IS NULL AND {slice_of_row} IS NULL AND {id} IS NULL
                                                 AND {unsent}) rows
        {else}
        SELECT FROM {outbox} WHERE {id} IS NULL AND {unsent}
        {end}
        LIMIT 100000
    ) unsent
) lost{if numbered}, (SELECT {if control_exists}{numbers_are_noted}{else}false{end}) switched (noted){end}
WHERE count > 0
