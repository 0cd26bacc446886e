-- Part: the outbox's file node, which a TRUNCATE changes; NULL when another table has its name now.
CASE WHEN coalesce(to_regclass({outbox_text})::oid = {outbox_oid}, false)
     THEN pg_relation_filenode({outbox_oid})::int8 END
