-- use: lane shape
-- Part and statement: the shape of the tables (read_shape). A changed row of these catalogs has a new xmin, which
-- is above those of all older rows until transaction ids wrap around; a row that is dropped lowers the count. The rows
-- of pg_class that VACUUM changes keep their xmin.
WITH relay_ids AS MATERIALIZED (
    SELECT ARRAY[to_regclass({outbox_text}), to_regclass({parked_text}), to_regclass({slice_table_text}),
        to_regclass({control_text})]::oid[] AS known
)
SELECT concat_ws(' ', (SELECT known::text FROM relay_ids), count(*), sum(mark), max(mark))
FROM (
    SELECT xmin::text::int8 AS mark FROM pg_catalog.pg_class WHERE oid = ANY ((SELECT known FROM relay_ids)::oid[])
    UNION ALL
    SELECT xmin::text::int8 FROM pg_catalog.pg_attribute WHERE attrelid = ANY ((SELECT known FROM relay_ids)::oid[])
    UNION ALL
    SELECT xmin::text::int8 FROM pg_catalog.pg_attrdef WHERE adrelid = ANY ((SELECT known FROM relay_ids)::oid[])
    UNION ALL
    SELECT xmin::text::int8 FROM pg_catalog.pg_index WHERE indrelid = ANY ((SELECT known FROM relay_ids)::oid[])
    UNION ALL
    SELECT xmin::text::int8 FROM pg_catalog.pg_trigger WHERE tgrelid = ANY ((SELECT known FROM relay_ids)::oid[])
    UNION ALL
    SELECT xmin::text::int8 FROM pg_catalog.pg_rewrite WHERE ev_class = ANY ((SELECT known FROM relay_ids)::oid[])
) marks
