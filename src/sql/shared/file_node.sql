-- Part: the outbox's file node, which a TRUNCATE changes; NULL when another table has its name now. A partitioned table
-- has none: in place of it, a number that stands for its partitions and for the file node of its sequence.
CASE WHEN coalesce(to_regclass({outbox_text})::oid = {outbox_oid}, false)
     THEN {if partitioned}{partition_nodes}{if sequence} # coalesce(pg_relation_filenode({sequence}), 0)::int8{end}
          {else}pg_relation_filenode({outbox_oid})::int8{end} END
