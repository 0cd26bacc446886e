-- Part with on_sent = "position": what ids draw on, the file nodes of the outbox and of the sequence. A TRUNCATE, a
-- RESTART and a rewrite change them, and ids may then begin anew. A partitioned outbox has a number in place of the
-- first.
{if partitioned}{partition_nodes}{else}coalesce({file_node}, 0){end} || ' '
|| {if sequence}coalesce(pg_relation_filenode({sequence}), 0){else}0{end}
