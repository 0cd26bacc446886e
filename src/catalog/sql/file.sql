-- Part: the table's file node as int8, NULL when another table has its name now.
CASE WHEN {is_same_table} THEN pg_relation_filenode({outbox_oid})::int8 END
