-- What shows that the bounds of a claim are void: when the table was made, as a row without an id; and which of some
-- ids below the bounds are those of unsent rows, their slices and topics. A look at a range would pass each dead row
-- in it.
SELECT NULL AS id, UNIX_TIMESTAMP(t.CREATE_TIME) AS slice, NULL AS topic FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = {schema_text} AND t.TABLE_NAME = {table_text}
UNION ALL
SELECT {id}, {slice_of_row}, {topic_bytes} FROM {outbox} o FORCE INDEX (PRIMARY)
WHERE {id} IN ({probes}){if unsent} AND {unsent}{end}
  AND {has_no_note}
