-- use: check check_60_ids if readable has_id !id_is_not_null
-- Of check, and of status: unsent rows without an id, which no claim finds. SET NOT NULL fails as long as they are
-- there.
SELECT 'error' AS level,
       format(CASE count WHEN 1 THEN '%s row of %s has no id (column %s is NULL) and is never sent'
                         WHEN 100000 THEN '%s or more rows of %s have no id (column %s is NULL) and are never sent'
                         ELSE '%s rows of %s have no id (column %s is NULL) and are never sent' END,
              count, {outbox_text}, {id_text}) AS text,
       format({if id_has_default}'UPDATE %1$s SET %2$s = DEFAULT WHERE %2$s IS NULL; '
              {else}'UPDATE these rows to ids above all others, then: '
              {end}'ALTER TABLE %1$s ALTER COLUMN %2$s SET NOT NULL;', {outbox_text}, {id_text}) AS fix
FROM (SELECT count(*) FROM (SELECT FROM {outbox} WHERE {id} IS NULL AND {unsent} LIMIT 100000) unsent) lost
WHERE count > 0
