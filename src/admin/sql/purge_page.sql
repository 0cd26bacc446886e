-- use: desk purge_page if has_sent_at
-- A page of the outbox for a purge: the ctid (in a partitioned table the id) and the place of each row, whether it was
-- sent, and whether a purge would delete it. A place is the id, or, where ids do not grow, the ctid. Of ids that grow
-- the page has every row, because unsent ones may lie below those that are to be deleted.
-- $1 int8 the age in ms; $2 text the place ('': from the first row on).
{if sequential_ids}
SELECT relay_row::text, relay_id::text, relay_sent_at IS NOT NULL,
       relay_sent_at < clock_timestamp() - $1::int8 * interval '1 millisecond'
FROM (
    SELECT {row_of_purge} AS relay_row, {id} AS relay_id, {sent_time} AS relay_sent_at
    FROM {purged_table} {outbox_name}
    WHERE ($2::text = '' OR {id} > nullif($2::text, '')::{id_type}) AND {was_sent}
      {if partitioned}AND {partitions_noted}{end}
    ORDER BY {id} LIMIT {purge_rows}
) page
{else}
SELECT ctid::text, ctid::text, true, true
FROM {purged_table} {outbox_name}
WHERE ($2::text = '' OR ctid > nullif($2::text, '')::tid)
  AND {sent_time} < clock_timestamp() - $1::int8 * interval '1 millisecond' AND {was_sent}
ORDER BY ctid LIMIT {purge_rows}
{end}
