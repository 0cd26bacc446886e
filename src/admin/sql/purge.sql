-- use: desk purge if has_sent_at
-- Deletes sent rows of the outbox that are old enough, a batch of them, and returns their number. If ids are
-- sequential, the rows with the lowest ids are the oldest: only these are read, sent or not, and no index on sent_at is
-- needed. Where none of them is old enough, purge_page looks behind them. Otherwise it may read every row.
-- $1 int8 the age in ms.
WITH purged AS (
    DELETE FROM {purged_table} {outbox_name}
    {if sequential_ids}
    USING (
        SELECT relay_row, relay_version
        FROM (
            SELECT {row_of_purge} AS relay_row, xmin AS relay_version, {sent_time} AS relay_sent_at
            FROM {purged_table} {outbox_name}
            WHERE {was_sent}
            ORDER BY {id} LIMIT {purge_rows}
        ) relay_oldest
        WHERE relay_sent_at < clock_timestamp() - $1::int8 * interval '1 millisecond'
    ) relay_old
    WHERE {row_of_purge} = relay_row AND xmin = relay_version -- as it was read: its time is not computed again
    {else}
    WHERE {row_of_purge} = ANY (ARRAY(
        SELECT ctid
        FROM {purged_table} {outbox_name}
        WHERE {sent_time} < clock_timestamp() - $1::int8 * interval '1 millisecond' AND {was_sent}
        LIMIT {purge_rows}))
      AND {sent_time} < clock_timestamp() - $1::int8 * interval '1 millisecond' AND {was_sent}
    {end}
      {if partitioned}AND {partitions_noted}{end}
    RETURNING 1
)
SELECT count(*) FROM purged
