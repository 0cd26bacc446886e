-- use: check check_61_null_ids if readable has_id !id_is_not_null !numbered
-- Of check: an id that may be NULL, as long as there is no such row.
SELECT 'error' AS level,
       format('column %s (id) of %s may be NULL: such a row is not sent, and may hold up others', {id_text},
              {outbox_text}) AS text,
       format('ALTER TABLE %s ALTER COLUMN %s SET NOT NULL;', {outbox_text}, {id_text}) AS fix
WHERE NOT EXISTS (SELECT FROM {outbox} WHERE {id} IS NULL AND {unsent})
