-- use: desk purge_page if has_sent_at
-- Rows of the outbox that a purge would delete, after a place, a batch of them: the ctid (in a partitioned
-- table the id) and the place of each. That is its id, or, where ids do not grow, the ctid too.
-- $1 int8 the age in ms; $2 text the place ('': from the first row on).
{if sequential_ids}
SELECT relay_row::text, relay_id::text
FROM (
    SELECT {row_of_purge} AS relay_row, {id} AS relay_id, {sent_time} AS relay_sent_at
    FROM {purged_table} {outbox_name}
    WHERE ($2::text = '' OR {id} > nullif($2::text, '')::{id_type}) AND {was_sent}
      {if partitioned}AND {partitions_noted}{end}
    ORDER BY {id} LIMIT {purge_rows}
) oldest
WHERE relay_sent_at < clock_timestamp() - $1::int8 * interval '1 millisecond'
{else}
SELECT ctid::text, ctid::text
FROM {purged_table} {outbox_name}
WHERE ($2::text = '' OR ctid > nullif($2::text, '')::tid)
  AND {sent_time} < clock_timestamp() - $1::int8 * interval '1 millisecond' AND {was_sent}
ORDER BY ctid LIMIT {purge_rows}
{end}
