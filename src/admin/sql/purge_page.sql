-- use: desk purge_page if has_sent_at sequential_ids
-- Rows of the outbox that a purge would delete, after a place, a batch of them: the ctid and the place of each, which
-- is its id.
-- $1 int8 the age in ms; $2 text the place ('': from the first row on).
SELECT relay_row::text, relay_id::text
FROM (
    SELECT ctid AS relay_row, {id} AS relay_id, {sent_at} AS relay_sent_at
    FROM {outbox}
    WHERE ($2::text = '' OR {id} > nullif($2::text, '')::{id_type}) AND
    {if own_mark}
    {where} IS NOT TRUE AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition')
    {else}
    {where}
    {if !own_table}
     AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition')
    {end}
    {end}
    ORDER BY {id} LIMIT {purge_rows}
) oldest
WHERE relay_sent_at < clock_timestamp() - $1::int8 * interval '1 millisecond'
