-- use: desk sent_marks
-- The columns that the relay does not know, and that may mark a row as sent, at most six. Any boolean counts: more
-- often than not it records a state of the event.
-- $1 text[] the columns that the relay knows.
SELECT quote_ident(attname) || ' (' || format_type(atttypid, atttypmod) || ')'
FROM pg_catalog.pg_attribute
WHERE attrelid = to_regclass({outbox_text}) AND attnum > 0 AND NOT attisdropped AND attname <> ALL ($1::text[])
  AND (atttypid = 'bool'::regtype
       OR attname ~* '(^|_)(status|state|processed|published|sent|delivered|dispatched|done)(_|$)'
       OR attname ~ '(_at|At)$')
ORDER BY attnum LIMIT 6
