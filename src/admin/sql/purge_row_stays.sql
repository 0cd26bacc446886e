-- use: desk purge_row_stays if has_sent_at
-- Whether a row that a purge has read is still there.
-- $1 text the ctid; in a partitioned table the id.
SELECT count(*) FROM {purged_table} {outbox_name} WHERE {row_of_purge} = $1::{if partitioned}{id_type}{else}tid{end}
